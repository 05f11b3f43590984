//! One exchange and what came of it: timed, capped, and with every failure under a name. Both doors
//! send through here. AA-032, AA-034.

use std::error::Error;
use std::io;
use std::iter;
use std::pin::pin;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Request, Response};
use url::Url;

use super::kept::{self, Failed};
use super::refusal::UrlRefusal;
use super::resolver::{DIALLED, Guard, Slot, Undialled};

/// The most bytes of a fault's `detail`.
const DETAIL_BYTES_MAX: usize = 200;

/// How often an exchange that waits looks at the clock.
const SLICE: Duration = Duration::from_millis(250);

/// How far behind such a look may come; one that comes later shows that the process stood still.
const STILL: Duration = Duration::from_millis(500);

/// The most bytes set aside for a body on the word of its length alone.
const BODY_BYTES_FORESEEN_MAX: usize = 64 * 1024;

/// What came of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// From just before sending (resolving and connecting included) to the last byte read, by the
    /// monotonic clock, without the time in which this process stood still. At most the deadline for a reply.
    pub latency: Duration,
    /// The reply, or what broke.
    pub outcome: Outcome,
}

impl Exchange {
    /// Whether there was no room on our side for a connection to send on.
    pub fn found_no_room(&self) -> bool {
        matches!(self.outcome, Outcome::Fault { fault: Fault::NoRoom, .. })
    }
}

/// A reply or a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A whole reply within the deadline, or one that was cut at the cap.
    Reply {
        /// The HTTP status, whatever it is: a redirect is a reply like any other. AA-052.
        status: u16,
        /// The body, decoded; never more than the cap.
        body: Vec<u8>,
        /// There was more than the cap. Nothing beyond it was read.
        too_large: bool,
    },
    /// No whole reply.
    Fault {
        /// What broke.
        fault: Fault,
        /// What broke, in words for the agent's owner; at most 200 bytes, without the URL.
        detail: String,
        /// The status, where the headers had come.
        status: Option<u16>,
        /// As much of the body as had come; never more than the cap.
        body: Vec<u8>,
    },
}

/// Why there is no whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// No TLS with that host: certificate, protocol, plain text.
    Tls,
    /// The name unknown, the connection refused, reset or cut short, not HTTP, a corrupt encoding.
    Transport,
    /// The last byte had not come at the deadline.
    Timeout,
    /// The URL may not be called (any more). No connection was made.
    Refused(UrlRefusal),
    /// This process or its machine has no descriptor or memory left for a connection. Nothing was sent on it, no agent answers
    /// for it, and it can be tried again when there is room.
    NoRoom,
    /// Our own mistake: a header that HTTP can't carry. Nothing was sent, and no agent answers for it.
    Unsendable,
}

/// A fault and its words.
#[derive(Debug)]
struct Broken {
    fault: Fault,
    detail: String,
}

impl Broken {
    fn new(fault: Fault, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        while detail.len() > DETAIL_BYTES_MAX {
            detail.pop();
        }
        Self { fault, detail }
    }
}

/// The time that counts against whoever is asked: none in which this process stood still, stopped or with its machine, for
/// nobody could be heard meanwhile (DESIGN: our outage is not the agent's). What had come until then is found after it.
struct Spent {
    so_far: Duration,
    last: Instant,
}

impl Spent {
    fn start() -> Self {
        Self { so_far: Duration::ZERO, last: Instant::now() }
    }

    /// Adds the time since the last call, in which nothing was waited for longer than `wait`.
    fn add(&mut self, wait: Duration) {
        let now = Instant::now();
        let passed = now.duration_since(self.last);
        if passed <= wait + STILL {
            self.so_far += passed;
        }
        self.last = now;
    }
}

/// What has been received so far. It outlives the sending, so that a timeout can show it.
#[derive(Debug, Default)]
struct Received {
    status: Option<u16>,
    body: Vec<u8>,
    too_large: bool,
}

/// A request that is ready to be sent.
pub(super) struct Call<'a> {
    pub(super) client: &'a Client,
    /// Keeps no connection, so that each is fresh: for what met the end of a kept one, where that may
    /// be sent twice.
    pub(super) fresh: Option<&'a Client>,
    /// Who judges the host; nobody at the operator's door.
    pub(super) guard: Option<&'a Guard>,
    pub(super) method: Method,
    pub(super) url: &'a Url,
    pub(super) headers: &'a [(&'static str, String)],
    pub(super) body: Option<Bytes>,
    pub(super) deadline: Duration,
    pub(super) cap_bytes: usize,
}

impl Call<'_> {
    pub(super) async fn run(self) -> Exchange {
        let deadline = self.deadline;
        let mut received = Received::default();
        let headers = match header_map(self.headers) {
            Ok(headers) => headers,
            Err(broken) => return concluded(Duration::ZERO, Err(broken), received),
        };
        // Before the clock starts: the wait for a place among the lookups is our queue's.
        let slot = match self.guard {
            Some(guard) => guard.slot(self.url).await,
            None => None,
        };
        let mut spent = Spent::start();
        let result = {
            let mut sending = pin!(self.send(headers, slot, &mut received));
            loop {
                let wait = SLICE.min(deadline.saturating_sub(spent.so_far));
                let result = tokio::time::timeout(wait, &mut sending).await;
                spent.add(wait);
                match result {
                    // The timer is coarser than the clock.
                    Ok(Ok(())) if spent.so_far > deadline => break Err(late(deadline)),
                    Ok(result) => break result,
                    Err(_elapsed) if spent.so_far >= deadline => break Err(late(deadline)),
                    Err(_elapsed) => {}
                }
            }
        };
        concluded(spent.so_far, result, received)
    }

    async fn send(
        self,
        headers: HeaderMap,
        slot: Option<Slot>,
        received: &mut Received,
    ) -> Result<(), Broken> {
        let mut response = match (self.head(self.client, headers, slot).await?, self.fresh) {
            (Ok(response), _) => response,
            (Err(Failed { met_an_end: true, .. }), Some(fresh)) => {
                // The same once more, made of the same parts, for which the host is judged anew.
                let headers = header_map(self.headers)?;
                self.head(fresh, headers, None).await?.map_err(|failed| classified(failed.error))?
            }
            (Err(Failed { error, .. }), _) => return Err(classified(error)),
        };
        received.status = Some(response.status().as_u16());
        if let Some(bytes) = response.content_length() {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            received.body.reserve_exact(bytes.min(self.cap_bytes).min(BODY_BYTES_FORESEEN_MAX));
        }
        while let Some(chunk) = response.chunk().await.map_err(classified)? {
            let room = self.cap_bytes - received.body.len();
            received.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                // Dropping the response closes the connection: the rest is never read.
                received.too_large = true;
                break;
            }
        }
        Ok(())
    }

    /// Judges the host, sends the request, and waits for the reply's head.
    async fn head(
        &self,
        client: &Client,
        headers: HeaderMap,
        slot: Option<Slot>,
    ) -> Result<Result<Response, Failed>, Broken> {
        let dialled = match self.guard {
            None => None,
            Some(guard) => guard.dialled(self.url, slot).await.map_err(undialled)?,
        };
        let mut request = Request::new(self.method.clone(), self.url.clone());
        *request.headers_mut() = headers;
        *request.body_mut() = self.body.clone().map(Into::into);
        let sending = kept::execute(client, request);
        Ok(match dialled {
            None => sending.await,
            Some(dialled) => DIALLED.scope(dialled, sending).await,
        })
    }
}

fn concluded(latency: Duration, result: Result<(), Broken>, received: Received) -> Exchange {
    let Received { status, body, too_large } = received;
    let outcome = match (result, status) {
        (Ok(()), Some(status)) => Outcome::Reply { status, body, too_large },
        (Ok(()), None) => unreachable!("sending succeeds only after a status was received"),
        (Err(Broken { fault, detail }), status) => Outcome::Fault { fault, detail, status, body },
    };
    Exchange { latency, outcome }
}

fn late(deadline: Duration) -> Broken {
    Broken::new(Fault::Timeout, format!("no whole reply within {} ms", deadline.as_millis()))
}

fn header_map(headers: &[(&'static str, String)]) -> Result<HeaderMap, Broken> {
    let mut map = HeaderMap::with_capacity(headers.len() + 4);
    for (name, value) in headers {
        let unsendable = || Broken::new(Fault::Unsendable, format!("the header {name} can't be sent"));
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unsendable())?;
        map.append(header, HeaderValue::from_str(value).map_err(|_| unsendable())?);
    }
    Ok(map)
}

fn undialled(why: Undialled) -> Broken {
    match why {
        Undialled::Refused(refusal) => {
            let detail = refusal.to_string();
            Broken::new(Fault::Refused(refusal), detail)
        }
        Undialled::Lookup(error) if has_no_room(&error) => Broken::new(Fault::NoRoom, error.to_string()),
        Undialled::Lookup(error) => Broken::new(Fault::Transport, format!("lookup: {error}")),
    }
}

/// The client wraps what happened in layers of its own; the cause below them decides.
fn classified(error: reqwest::Error) -> Broken {
    if error.is_builder() {
        return Broken::new(Fault::Unsendable, error.without_url().to_string());
    }
    let error = error.without_url();
    let mut innermost: &(dyn Error + 'static) = &error;
    for cause in causes(&error) {
        if let Some(refusal) = cause.downcast_ref::<UrlRefusal>() {
            return Broken::new(Fault::Refused(refusal.clone()), refusal.to_string());
        }
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return Broken::new(Fault::Tls, tls.to_string());
        }
        if let Some(io) = cause.downcast_ref::<io::Error>()
            && has_no_room(io)
        {
            return Broken::new(Fault::NoRoom, io.to_string());
        }
        innermost = cause;
    }
    Broken::new(Fault::Transport, innermost.to_string())
}

/// Whether it is our side that lacks something. Their side's lack shows in no code of these.
fn has_no_room(error: &io::Error) -> bool {
    /// The system's table of open files is full; the same numbers on every Unix.
    const ENFILE: i32 = 23;
    /// The process's is.
    const EMFILE: i32 = 24;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE)) || error.kind() == io::ErrorKind::OutOfMemory
}

/// The error and all below it. `io::Error::source` passes over the very error it holds.
pub(super) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |&error| match error.downcast_ref::<io::Error>().map(io::Error::get_ref) {
        Some(Some(held)) => Some(held),
        _ => error.source(),
    })
}
