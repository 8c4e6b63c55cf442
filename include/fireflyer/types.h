/* types.h - status codes, element types, reduce operations, numerics: plain C, no functions.
 *
 * Part of the public face, and the vocabulary that the library itself speaks.
 */
#ifndef FIREFLYER_TYPES_H
#define FIREFLYER_TYPES_H
#include <stdint.h>

/* What the caller can do next decides the code; ff_last_error() has the story (call, ranks, hosts,
 * values, remedy). */
typedef enum ff_status {
  FF_OK = 0,
  FF_IN_PROGRESS,       /* not an error: ff_operation_test and ff_operation_wait with a deadline */
  FF_ERROR_ARGUMENT,    /* fix the call; nothing was started and the communicator is as before */
  FF_ERROR_UNSUPPORTED, /* this build, device or type x operation cannot; same on every rank */
  FF_ERROR_MISMATCH,    /* ranks disagree about the call; every rank gets the same text. Final */
  FF_ERROR_RESOURCE,    /* memory, descriptors, locked memory: free some, retry */
  FF_ERROR_UNREACHABLE, /* a rank could not be found or connected in time; create failed */
  FF_ERROR_PEER_LOST,   /* a rank died: destroy and create another. Final */
  FF_ERROR_TIMEOUT,     /* a deadline passed: destroy and create another. Final */
  FF_ERROR_ABORTED,     /* someone called abort. Final */
  FF_ERROR_STATE,       /* used after a final error, or in a forked child */
  FF_ERROR_SYSTEM,      /* the system refused; errno text in the message */
  FF_ERROR_INTERNAL,    /* our bug: please report, with the message */
  FF_STATUS_COUNT
} ff_status;

/* Element types. 8-bit floats follow the OCP "FP8" formats: e4m3 has no infinity and one NaN, e5m2
 * is IEEE-like. FF_BOOL is one byte: zero is false, anything else true; results are 0 or 1. */
typedef enum ff_type {
  FF_INT8,
  FF_UINT8,
  FF_INT16,
  FF_UINT16,
  FF_INT32,
  FF_UINT32,
  FF_INT64,
  FF_UINT64,
  FF_FLOAT16,
  FF_BFLOAT16,
  FF_FLOAT32,
  FF_FLOAT64,
  FF_FLOAT8_E4M3,
  FF_FLOAT8_E5M2,
  FF_BOOL,
  FF_TYPE_COUNT
} ff_type;

typedef uint32_t ff_reduce_op; /* a built-in operation */
enum { FF_SUM, FF_PROD, FF_MAX, FF_MIN, FF_AVG, FF_BAND, FF_BOR, FF_BXOR, FF_BUILTIN_OPS };

/* How far the bits of a result may depend on how it was computed. Results are always equal on all
 * ranks, and from start to start with the same layout of ranks and the same table of constants. */
typedef enum ff_numerics {
  FF_NUMERICS_DEFAULT,   /* may depend on size, layout and table of constants */
  FF_NUMERICS_ANY_SIZE,  /* and not on size, chunking or fusion of calls */
  FF_NUMERICS_ANY_LAYOUT /* and not on how ranks are spread over nodes */
} ff_numerics;

#endif /* FIREFLYER_TYPES_H */
