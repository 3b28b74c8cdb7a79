// Package queue hands jobs to workers, on NATS JetStream. A job names one replay; what to do with it is the caller's.
//
// # What is stored
//
//   - The stream [StreamName] is a work queue. Its subjects are replayd.jobs.PRIORITY.TENANT: a line of jobs each, in the order in which
//     they were added. A message is a job until a worker acknowledges it, and each line has one consumer, which all workers share.
//   - The key-value bucket [RecordsName] has a [Record] of each job by its ID: its outcome. Failed jobs are the dead letters.
//   - The key-value bucket [ClaimsName] has who writes to a place, and the names of files that may be there.
//
// A job's ID is a hash of its contents, what is wanted of them, and the tenant. Adding it again while its record is kept does nothing.
//
// # Leases
//
// A job that was taken is another worker's after the lease, unless [Taken.Extend] was called since. So two workers can have one job, if one
// was stopped for that long. Both may do the work: results must be the same, and be put in their place at once. Every change of a
// record names the revision that it changes, so that the slower worker gets [ErrLost].
//
// A job that was taken [MaxDeliveries] times fails, whatever the reason: the workers that had it before may have died of it.
//
// # Fairness
//
// A worker takes one job at a time, and none ahead. Of 16 times it begins 12 times with jobs of high priority, 3 times with
// normal and once with low ones; if there are none, it looks for the other priorities. Within a priority the tenants take turns,
// whatever the lengths of their lines. So a job waits for at most as many others as there are tenants of its priority, times
// 16/12, 16/3 or 16, divided by the workers.
//
// # Names
//
// Nothing that is secret may be in a job. Errors of this package have no URL and no credentials.
//
// A [Queue] is safe for concurrent use, and so is a [Taker].
package queue
