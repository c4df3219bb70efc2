/* SPDX-License-Identifier: GPL-2.0-or-later */

/* A thread with one slot. DAMON's state words wait uninterruptibly for the kdamond, a sampling
 * interval or longer; all of that happens here, so that the event loop stays responsive and its
 * watchdog tells the truth. */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "daemon/worker.h"

/* Jobs use little stack; the default reserves 8 MiB of address space. */
#define STACK_BYTES (256 << 10)

struct Worker {
        Sysfs *sysfs;
        pthread_t thread;
        bool has_thread;
        pthread_mutex_t mutex;
        pthread_cond_t posted;
        int fd;
        bool busy; /* the caller's side only: posted and not taken yet */
        bool stop; /* below: under the mutex */
        Job *in;
        Job *out;
};

static void *worker_main(void *userdata) {
        Worker *worker = userdata;

        (void) pthread_mutex_lock(&worker->mutex);
        for (;;) {
                Job *job;

                while (!worker->in && !worker->stop)
                        (void) pthread_cond_wait(&worker->posted, &worker->mutex);
                if (!worker->in)
                        break;
                job = TAKE_PTR(worker->in);
                (void) pthread_mutex_unlock(&worker->mutex);

                job_run(job, worker->sysfs);

                (void) pthread_mutex_lock(&worker->mutex);
                worker->out = job;
                (void) eventfd_write(worker->fd, 1); /* the counter can't overflow with one slot */
        }
        (void) pthread_mutex_unlock(&worker->mutex);
        return NULL;
}

static int start_thread(Worker *worker) {
        pthread_attr_t attr;
        sigset_t all, before;
        int r;

        r = pthread_attr_init(&attr);
        if (r != 0)
                return -r;
        (void) pthread_attr_setstacksize(&attr, STACK_BYTES);
        /* Signals belong to the event loop. */
        (void) sigfillset(&all);
        (void) pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&worker->thread, &attr, worker_main, worker);
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        (void) pthread_attr_destroy(&attr);
        worker->has_thread = r == 0;
        return -r;
}

int worker_new(Sysfs *sysfs, Worker **ret) {
        _cleanup_(worker_freep) Worker *worker = NULL;
        int r;

        worker = calloc(1, sizeof(*worker));
        if (!worker)
                return -ENOMEM;
        worker->sysfs = sysfs;
        worker->fd = -1;
        (void) pthread_mutex_init(&worker->mutex, NULL);
        (void) pthread_cond_init(&worker->posted, NULL);
        worker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (worker->fd < 0)
                return -errno;
        r = start_thread(worker);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(worker);
        return 0;
}

Worker *worker_free(Worker *worker) {
        if (!worker)
                return NULL;
        if (worker->has_thread) {
                (void) pthread_mutex_lock(&worker->mutex);
                worker->stop = true;
                (void) pthread_cond_signal(&worker->posted);
                (void) pthread_mutex_unlock(&worker->mutex);
                (void) pthread_join(worker->thread, NULL);
        }
        closep(&worker->fd);
        job_free(worker->in);
        job_free(worker->out);
        (void) pthread_cond_destroy(&worker->posted);
        (void) pthread_mutex_destroy(&worker->mutex);
        free(worker);
        return NULL;
}

int worker_fd(const Worker *worker) {
        return worker->fd;
}

bool worker_is_busy(const Worker *worker) {
        return worker->busy;
}

int worker_post_consume(Worker *worker, Job *job) {
        if (worker->busy) {
                job_free(job);
                return -EBUSY;
        }
        worker->busy = true;
        (void) pthread_mutex_lock(&worker->mutex);
        worker->in = job;
        (void) pthread_cond_signal(&worker->posted);
        (void) pthread_mutex_unlock(&worker->mutex);
        return 0;
}

Job *worker_take(Worker *worker) {
        eventfd_t count;
        Job *job;

        (void) eventfd_read(worker->fd, &count); /* only to make it unreadable again */
        (void) pthread_mutex_lock(&worker->mutex);
        job = TAKE_PTR(worker->out);
        (void) pthread_mutex_unlock(&worker->mutex);
        if (job)
                worker->busy = false;
        return job;
}
