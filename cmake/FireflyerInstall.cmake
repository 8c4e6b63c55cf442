function(ff_install)
endfunction()
