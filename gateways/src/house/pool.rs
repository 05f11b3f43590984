//! Threads of the house agents' own. What belongs here: a bounded queue and its threads. What never does: how an agent
//! chooses. Waiting for a place counts against nobody: no deadline runs here.

use std::{
    io,
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use arena_engine::games::{Position, Seat};
use tokio::sync::{mpsc, oneshot};

use super::{Choice, HouseAgent};

/// Choices that wait for a thread; who asks beyond them waits for a place among them.
pub const QUEUE_JOBS_MAX: usize = 256;

/// Why the pool gave no choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// The agent failed (a bug of ours, which the pool outlives).
    #[error(
        "the house agent {agent} failed while it chose; this is a fault of the house, ask again or void the match"
    )]
    Failed {
        /// The agent's name.
        agent: &'static str,
    },
}

type Job = Box<dyn FnOnce() + Send>;

/// House agents at work: one thread fewer than there are cores, at least one, and a queue of [`QUEUE_JOBS_MAX`]. Dropping it
/// ends its threads, each after the choice that it is at; what waits in the queue is let go.
#[derive(Debug)]
pub struct HousePool {
    /// Some until it is dropped.
    jobs: Option<mpsc::Sender<Job>>,
    stopping: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl HousePool {
    /// Starts the threads.
    ///
    /// # Errors
    /// What the system said when it would not start one.
    pub fn start() -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self::with(cores.saturating_sub(1).max(1), QUEUE_JOBS_MAX)
    }

    fn with(threads: usize, queue_jobs_max: usize) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel(queue_jobs_max);
        let queue = Arc::new(Mutex::new(queue));
        // Built up in place, so that an error ends the threads that did start.
        let mut pool =
            Self { jobs: Some(jobs), stopping: Arc::default(), threads: Vec::with_capacity(threads) };
        for number in 0..threads {
            let (queue, stopping) = (Arc::clone(&queue), Arc::clone(&pool.stopping));
            let thread = thread::Builder::new().name(format!("house-{number}"));
            pool.threads.push(thread.spawn(move || work(&queue, &stopping))?);
        }
        Ok(pool)
    }

    /// [`HouseAgent::choose`] on a thread of the pool; waits for a place in the queue, then for the choice. A caller that stops
    /// waiting takes its question back.
    ///
    /// # Errors
    /// [`PoolError::Failed`] if the agent panicked.
    pub async fn choose(
        &self,
        agent: &'static HouseAgent,
        position: Position,
        seat: Seat,
        seed: [u8; 32],
    ) -> Result<Option<Choice>, PoolError> {
        self.run(agent.name, move || agent.choose(&position, seat, &seed)).await
    }

    async fn run<T: Send + 'static>(
        &self,
        agent: &'static str,
        think: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let failed = PoolError::Failed { agent };
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move || {
            if !answer.is_closed() {
                // Nobody is left to hear an answer that is not taken.
                let _ = answer.send(think());
            }
        });
        self.jobs.as_ref().ok_or(failed)?.send(job).await.map_err(|_| failed)?;
        answered.await.map_err(|_| failed)
    }
}

/// One thread: a job after another, until the pool is dropped.
fn work(queue: &Mutex<mpsc::Receiver<Job>>, stopping: &AtomicBool) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv();
        match job {
            Some(job) if !stopping.load(Ordering::Relaxed) => {
                // A panic has let go of the job's answer, which tells the caller; the thread goes on.
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
            _ => return,
        }
    }
}

impl Drop for HousePool {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // It catches the panics of its jobs, and has none of its own.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        pin::Pin,
        sync::{Barrier, mpsc as std_mpsc},
        task::Poll,
    };

    use arena_engine::games::GameCode;
    use futures::future::join_all;

    use super::*;
    use crate::house::by_name;

    /// Whether the future, polled once, is not done.
    async fn waits(future: &mut (impl Future + Unpin)) -> bool {
        poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context).is_pending())).await
    }

    #[tokio::test]
    async fn answers_as_the_agent_does() {
        let pool = HousePool::start().expect("threads");
        let agent = by_name("copper-4").expect("an agent");
        let position = Position::of(GameCode::Connect4, &[0; 32]);
        let answers =
            join_all((0..20).map(|seed| pool.choose(agent, position.clone(), Seat::First, [seed; 32]))).await;
        for (seed, answer) in (0..20).zip(answers) {
            assert_eq!(answer, Ok(agent.choose(&position, Seat::First, &[seed; 32])));
        }
        assert_eq!(pool.choose(agent, position, Seat::Second, [0; 32]).await, Ok(None));
    }

    #[tokio::test]
    async fn who_finds_the_queue_full_waits_for_a_place() {
        let pool = HousePool::with(1, 2).expect("a thread");
        let barrier = Arc::new(Barrier::new(2));
        let (started, at_work) = std_mpsc::channel();
        let held = Arc::clone(&barrier);
        let mut first = Box::pin(pool.run("first", move || {
            started.send(()).expect("the test listens");
            held.wait();
        }));
        assert!(waits(&mut first).await);
        at_work.recv().expect("the thread has taken it");
        let mut queued: Vec<_> = (0..2).map(|number| Box::pin(pool.run("queued", move || number))).collect();
        for waiting in &mut queued {
            assert!(waits(waiting).await);
        }
        let sender = pool.jobs.as_ref().expect("not dropped");
        assert_eq!(sender.capacity(), 0, "the queue is full");
        let mut beyond = Box::pin(pool.run("beyond", || 2));
        assert!(waits(&mut beyond).await);

        barrier.wait();
        assert_eq!(first.await, Ok(()));
        assert_eq!(join_all(queued).await, [Ok(0), Ok(1)]);
        assert_eq!(beyond.await, Ok(2));
    }

    #[tokio::test]
    async fn a_question_taken_back_is_not_thought_about() {
        let pool = HousePool::with(1, 2).expect("a thread");
        let barrier = Arc::new(Barrier::new(2));
        let held = Arc::clone(&barrier);
        let mut first = Box::pin(pool.run("first", move || {
            held.wait();
        }));
        assert!(waits(&mut first).await);
        let mut given_up = Box::pin(pool.run("given up", || panic!("nobody waits for this")));
        assert!(waits(&mut given_up).await);
        drop(given_up);
        barrier.wait();
        assert_eq!(pool.run("next", || 7).await, Ok(7));
    }

    #[tokio::test]
    async fn an_agent_that_fails_leaves_the_pool_working() {
        let pool = HousePool::with(1, 2).expect("a thread");
        for _ in 0..3 {
            let failed = pool.run("BROKEN-0", || -> u8 { panic!("on purpose") }).await;
            assert_eq!(failed, Err(PoolError::Failed { agent: "BROKEN-0" }));
        }
        assert_eq!(pool.run("next", || 7).await, Ok(7));
    }

    #[tokio::test]
    async fn dropping_it_ends_its_threads_and_lets_the_queue_go() {
        let pool = HousePool::with(1, 4).expect("a thread");
        let (started, at_work) = std_mpsc::channel();
        let (release, released) = std_mpsc::channel::<()>();
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let sender = pool.jobs.clone().expect("not dropped");
        let busy: Job = Box::new(move || {
            started.send(()).expect("the test listens");
            // Ends when the test lets go of its side.
            let _ = released.recv();
            drop(held);
        });
        sender.send(busy).await.expect("a place");
        at_work.recv().expect("the thread has taken it");
        let queued = Arc::clone(&alive);
        let never: Job = Box::new(move || panic!("ran after the end with {queued:?}"));
        sender.send(never).await.expect("a place");
        drop(sender);
        let stopping = Arc::clone(&pool.stopping);
        let ender = thread::spawn(move || drop(pool));
        while !stopping.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        drop(release);
        ender.join().expect("the drop returns");
        assert_eq!(Arc::strong_count(&alive), 1, "nothing of the pool is left");
    }
}
