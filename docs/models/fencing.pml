/*
 * How workers write the tables of a replay: take, claim, extend, finish, commit. See docs/fleet.md, "Once".
 *
 * Two jobs export different parts of one replay, so that both write one manifest. Any attempt may be late at any step: a worker that was
 * stopped, that has lost NATS alone, or whose request is in the network. So an attempt here never asks whether its lease lasts: the lease
 * saves work, and what is proved does not depend on it. The queue gives a job to another attempt whenever it likes.
 *
 * Proved, for all orders of all steps:
 *   - what the manifest names is there, and is of the attempt that wrote the manifest;
 *   - a job that is done has its tables in the manifest;
 *   - no attempt replaces what a job that is done has written, unless it began afterwards.
 *
 * fleet/queue/model_test.go runs it with spin, and runs it with each of these, which must be found wrong:
 *   NO_CONDITION  manifests are put unconditionally
 *   ONE_NAME      attempts share the names of files
 *   NO_GIVING_UP  what attempts have left is removed without making it impossible that they commit later
 *   NO_CLAIM      two jobs may write to one place
 */

#ifndef ATTEMPTS
#define ATTEMPTS 3
#endif
#define NOTHING  ATTEMPTS       /* no manifest, or nobody */
#define GIVEN_UP (ATTEMPTS + 1) /* a manifest that names nothing */
#define JOBS 2
#define bit(a) (1 << (a))

mtype = { queued, running, done, failed, cancelled }

/* The queue: a record of each job, with a revision, and the claim of the place. */
mtype state[JOBS] = queued
byte revision[JOBS]
bool claimed[JOBS]             /* Record.Claim */
byte claim = NOTHING           /* the job that has the place */
byte claimRevision
byte claimNames                /* attempts of which files may be there */

/* The store: which attempts have a file there, whose contents it has, and the manifest with its version. */
byte files
byte contents = NOTHING        /* with ONE_NAME: of the one file */
byte manifest = NOTHING
byte version

/* For the proofs. */
byte attempts
byte jobOf[ATTEMPTS]
byte dones                     /* how many jobs are done */

inline valid() {
#ifdef ONE_NAME
	assert(manifest >= ATTEMPTS || contents == manifest)
#else
	assert(manifest >= ATTEMPTS || (files & bit(manifest)))
#endif
}

inline put(a) { d_step { files = files | bit(a); contents = a; valid() } }

inline remove(names) {
	d_step {
		files = files & ~(names);
#ifdef ONE_NAME
		if :: names -> contents = NOTHING :: else fi;
#endif
		valid()
	}
}

/* A record is changed only if nobody has changed it since. */
inline record(s) {
	d_step {
		ok = revision[j] == mine;
		if
		:: ok ->
			revision[j]++; mine = revision[j]; state[j] = s
		:: else
		fi
	}
}

/* The claim likewise. names are noted with it. */
inline keep(names) {
	d_step {
		ok = claimRevision == claimMine;
		if
		:: ok -> claimRevision++; claimMine = claimRevision; claim = j; known = names; claimNames = names
		:: else
		fi
	}
}

/* Taken.Claim: read the claim, see that the job that has it is over, write it, note it in the record. */
inline take_claim() {
	d_step {
		known = claimNames; claimMine = claimRevision; ok = true;
#ifndef NO_CLAIM
		if
		:: claim != NOTHING && claim != j && claimed[claim] &&
			(state[claim] == queued || state[claim] == running || state[claim] == cancelled) -> ok = false
		:: else
		fi
#endif
	}
	if
	:: ok ->
		keep(known);
		if
		:: ok ->
			d_step {
				ok = revision[j] == mine;
				if :: ok -> revision[j]++; mine = revision[j]; claimed[j] = true :: else fi
			}
		:: else
		fi
	:: else
	fi
}

/* Place.Commit: a manifest is put on condition that none was put since a version. It may be in the network for long before. */
inline commit(what) {
	d_step {
		ok = version == was;
#ifdef NO_CONDITION
		ok = true;
#endif
		if
		:: ok ->
			if :: what < ATTEMPTS -> assert(began == dones) :: else fi;
			version++; manifest = what; valid()
		:: else
		fi
	}
}

inline look() { d_step { was = version; there = manifest < ATTEMPTS && jobOf[manifest % ATTEMPTS] == j; began = dones } }

proctype Attempt(byte a; byte j; byte mine; bool abandoned) {
	byte claimMine, known, was, began;
	bool ok, there, busy;

	if
	:: abandoned -> goto clean
	:: else -> look()
	fi;
	if :: there -> goto tidy :: else fi;
	take_claim();
	if :: !ok -> goto later :: else fi;
	look();
	if :: there -> goto tidy :: else fi;
	keep(known | bit(a)); /* Intend */
	if :: !ok -> goto later :: else fi;
	put(a);
	keep(known); /* Intend, again */
	if :: !ok -> goto lost :: else fi;
	if
	:: commit(a)
	:: goto clean /* it fails for good, such as by the limit of its time */
	fi;
	if :: !ok -> goto later :: else fi;
tidy:
	take_claim();
	if
	:: ok -> remove(known & ~bit(manifest)); keep(0)
	:: else -> busy = true /* another job replaces what was there */
	fi;
	d_step {
		ok = revision[j] == mine;
		if
		:: ok ->
			revision[j]++; state[j] = done; dones++;
			assert(busy || manifest < ATTEMPTS && jobOf[manifest % ATTEMPTS] == j)
		:: else
		fi
	}
	goto end;
clean: /* Worker.clean */
	take_claim();
	if :: !ok -> goto over :: else fi;
	d_step { was = version; there = manifest < ATTEMPTS };
	if :: there -> goto over :: else fi;
#ifndef NO_GIVING_UP
	if
	:: known -> commit(GIVEN_UP);
		if :: !ok -> goto over :: else fi
	:: else
	fi;
#endif
	remove(known);
	keep(0);
over:
	if
	:: abandoned -> record(cancelled); if :: ok -> claimed[j] = false :: else fi
	:: else -> record(failed)
	fi;
	goto end;
lost:
	remove(bit(a)); /* Export.Abandon: it has not tried to commit */
	goto end;
later:
	record(queued);
end:
	skip
}

/* The queue begins an attempt of a job that is not over, when it is new or its lease has lapsed, or of one that was cancelled and may have
 * left something. A user may cancel a job. */
active proctype Queue() {
	byte j;
	do
	:: attempts < ATTEMPTS ->
		if :: j = 0 :: j = 1 fi;
		if
		:: atomic {
			state[j] == queued || state[j] == running || state[j] == cancelled && claimed[j] ->
			if :: state[j] == queued -> state[j] = running :: else fi;
			revision[j]++;
			jobOf[attempts] = j;
			run Attempt(attempts, j, revision[j], state[j] == cancelled);
			attempts++
		}
		:: d_step { state[j] == queued || state[j] == running -> state[j] = cancelled; revision[j]++ }
		:: else
		fi
	:: attempts == ATTEMPTS -> break
	od
}
