/* fireflyer.h - the public C face of Fireflyer. Compiles as C11 and as C++20.
 *
 * Rules that hold for every function here
 *  - Any thread may call. Calls on one communicator match across ranks by their order of
 * submission; threads that share one must order their calls themselves. Different communicators
 * never wait for each other.
 *  - No call waits for a peer at submission, except to give back-pressure; waiting is
 * ff_operation_wait (or operation == NULL).
 *  - Structs open with their size; T_init() sets it and zeroes the rest. Zero means default. Old
 * callers and new libraries agree so.
 *  - Counts are elements, lengths are bytes, times are nanoseconds (0 = the communicator's default,
 * -1 = no limit).
 *  - After fork() the child may only _exit or exec: everything else returns FF_ERROR_STATE.
 *  - Nothing here throws, writes to standard output, installs a signal handler or ends the process.
 */
#ifndef FIREFLYER_H
#define FIREFLYER_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fireflyer/types.h"

#ifdef __cplusplus
extern "C" {
#define FF_NODISCARD [[nodiscard]]
#else
#define FF_NODISCARD
#endif
#define FF_API __attribute__((visibility("default")))
#define FF_CALL FF_NODISCARD FF_API ff_status
#define FF_ABI 1u /* grows only when an existing field or meaning changes */
#define FF_SIZED(T)                \
  static inline T T##_init(void) { \
    T x;                           \
    memset(&x, 0, sizeof x);       \
    x.size = sizeof x;             \
    return x;                      \
  }

typedef struct ff_comm ff_comm; /* one rank's seat in one group; destroy ends it */
typedef struct ff_operation
    ff_operation; /* one submitted call; release exactly once, in any state */

/* ---- life of a communicator
 * ------------------------------------------------------------------------------------- */

/* Rendezvous that the caller brings (a torch Store, MPI, a test). Values are copied. get waits for
 * the key until deadline_ns from now and writes at most *bytes, then the length found; both return
 * 0 or an errno. */
typedef struct ff_store {
  size_t size;
  void* context;
  int (*set)(void* context, const char* key, const void* value, size_t bytes);
  int (*get)(void* context, const char* key, void* value, size_t* bytes, int64_t deadline_ns);
} ff_store;
FF_SIZED(ff_store)

/* A rendezvous as a value, for those who can broadcast 128 bytes: name and secret of a group yet to
 * be made. */
typedef struct ff_id {
  unsigned char bytes[128];
} ff_id;

/* Who runs the steps of calls that nobody waits for. A waiting caller always drives its own
 * communicator. */
typedef enum ff_progress {
  FF_PROGRESS_AUTO,   /* as FF_PROGRESS_THREAD */
  FF_PROGRESS_CALLER, /* only threads inside ff_ calls; the helper thread still watches deadlines
                         and deaths */
  FF_PROGRESS_THREAD  /* the process's helper thread as well */
} ff_progress;

/* Why a communicator ended. The same on all survivors, except seen_by and confirmed. */
typedef struct ff_failure {
  size_t size;
  ff_status status;
  int32_t rank, pid, seen_by; /* culprit; -1 = none to name */
  int32_t confirmed;          /* 0: this rank could not agree with the others in time */
  uint64_t sequence;          /* of the call it happened in; 0 = between calls */
  char host[64], call[128], text[512];
} ff_failure;
FF_SIZED(ff_failure)

typedef struct ff_config {
  size_t size;
  uint32_t abi; /* FF_ABI */
  int32_t rank,
      ranks; /* ranks 0 = read from the environment (ff run, torchrun, Slurm, Open MPI, MPICH) */
  const char* rendezvous; /* "env", "file:/path", "name:TEXT" (processes of one user on one host);
                             NULL = "env"; or store, or id */
  const ff_store* store;  /* copied */
  const ff_id* id;        /* copied */
  const char* name;       /* appears in logs and errors; default "world" */
  const char* secret;     /* of the job; NULL = what FF_SECRET names, else none */
  int64_t connect_timeout_ns; /* default 60 s */
  int64_t call_timeout_ns;    /* default 300 s */
  ff_progress progress;
  ff_numerics numerics;
  size_t staging_bytes; /* shared memory a rank may use for staging; 0 = derived from cache size and
                           ranks on the node */
  uint32_t max_outstanding; /* submitted, not yet done; then submission gives back-pressure. Default
                               256 */
  const char*
      options; /* "algorithm=ring;chunk=64K": the grammar of FF_OPTIONS, which this overrides */
  void (*on_failure)(void* context,
                     const ff_failure*); /* once, on a helper thread; must not block */
  void* on_failure_context;
} ff_config;
FF_SIZED(ff_config)

/* Makes a fresh name and secret. Local; every rank of the group needs the same 128 bytes. */
FF_CALL ff_id_create(ff_id* id);

/* Joins the group: collective over its ranks, returns when all have arrived. On an error *out is
 * NULL and nothing is left. FF_ERROR_UNREACHABLE names the ranks that did not arrive;
 * FF_ERROR_ARGUMENT, among others, two processes with one rank. */
FF_CALL ff_comm_create(const ff_config* config, ff_comm** out);

/* Waits until all calls submitted so far are done; the error of the first that failed. Blocks this
 * thread. */
FF_CALL ff_comm_flush(ff_comm* comm, int64_t timeout_ns);

/* Ends the communicator on every rank: all unfinished calls return FF_ERROR_ABORTED. Any thread,
 * bounded, idempotent; the handle stays valid until ff_comm_destroy. `reason` is copied into
 * everybody's error. */
FF_CALL ff_comm_abort(ff_comm* comm, const char* reason);

/* Gives everything back. Local and bounded: never waits for a peer. Unfinished calls end with
 * FF_ERROR_ABORTED here, and peers that still need this rank get FF_ERROR_PEER_LOST. NULL is
 * allowed. Operations outlive their communicator. */
FF_CALL ff_comm_destroy(ff_comm* comm);

/* FF_OK, or why the communicator ended; `detail` may be NULL. Never blocks. */
FF_CALL ff_comm_async_error(ff_comm* comm, ff_status* out, ff_failure* detail);

FF_API int32_t ff_comm_rank(const ff_comm* comm);
FF_API int32_t ff_comm_ranks(const ff_comm* comm);

/* ---- calls
 * ------------------------------------------------------------------------------------------------------
 */

/* Options common to all calls; pass NULL for none. */
typedef struct ff_call {
  size_t size;
  int64_t timeout_ns; /* from submission */
  const char* name; /* of the tensor: errors and stall reports. Copied, at most 31 bytes are kept */
} ff_call;
FF_SIZED(ff_call)

/* recv[i] = op over all ranks r of send_r[i], for `count` elements.
 *
 * send == NULL or send == recv means in place; any other overlap is FF_ERROR_ARGUMENT. operation ==
 * NULL returns when the result is there; else at once, and both buffers must live, unchanged by
 * others, until the operation is done. Count, type and op must be equal on all ranks:
 * FF_ERROR_MISMATCH, on every rank, else. A count of 0 still takes its place in the order of calls.
 * Sums of 16- and 8-bit floats are accumulated in float32 and rounded once a pass; FF_AVG is the
 * sum, then divided, and is for floating-point types; integers wrap; FF_MAX and FF_MIN give NaN if
 * any input is NaN. */
FF_CALL ff_all_reduce(ff_comm* comm, const void* send, void* recv, size_t count, ff_type type,
                      ff_reduce_op op, const ff_call* call, ff_operation** operation);

FF_CALL ff_operation_test(ff_operation* operation); /* FF_IN_PROGRESS, FF_OK or the error; never
                                                       blocks, drives a little */
/* Blocks this thread until the call is done. FF_IN_PROGRESS after timeout_ns (0, -1: no limit but
 * the call's own), which does not cancel the call. */
FF_CALL ff_operation_wait(ff_operation* operation, int64_t timeout_ns);
/* fn runs once, on the helper thread, on a driving thread, or at once if the call is already
 * done. It must not block, and may call nothing of this library but ff_operation_release. */
FF_CALL ff_operation_on_done(ff_operation* operation, void (*fn)(void* context, ff_status),
                             void* context);
FF_API void ff_operation_release(
    ff_operation* operation); /* NULL is allowed. An unfinished call goes on */

/* ---- asking
 * -----------------------------------------------------------------------------------------------------
 */

/* What would be done, and why, as JSON: the chosen algorithm and every candidate's predicted time,
 * the schedule, its proof, bytes on each link, the bottleneck. Needs no communicator. `request` is
 * words, as in "all_reduce ranks=16 nodes=2 bytes=64M type=bf16 op=sum algorithm=tree chunk=256K"
 * Free the text with ff_free_text. */
FF_CALL ff_explain(const char* request, char** json);
/* The same for this communicator's layout and constants ("explain all_reduce bytes=64M"), or
 * "config" or "members". */
FF_CALL ff_comm_query(ff_comm* comm, const char* what, char** json);
FF_API void ff_free_text(char* text);

FF_API const char* ff_last_error(
    void); /* this thread's last failing call; never NULL; valid until the next failing call */
FF_API const char* ff_status_name(ff_status status);
FF_API const char* ff_type_name(ff_type type);  /* "float32", ...; NULL if unknown */
FF_API size_t ff_type_size(ff_type type);       /* bytes; 0 if unknown */
FF_API const char* ff_op_name(ff_reduce_op op); /* "sum", ...; NULL if unknown */
FF_API uint32_t ff_version(void);               /* 10000 major + 100 minor + patch */

/* Where log lines go; NULL = standard error. Levels: 0 error, 1 warning, 2 info, 3 debug; FF_LOG
 * chooses the highest shown. */
FF_API void ff_set_log(void (*sink)(void* context, int level, const char* line), void* context);

#ifdef __cplusplus
}
#endif
#endif /* FIREFLYER_H */
