//! Receiving, and reading without joining (agentwire, *Receive* and *Read*): what is acknowledged when, what wakes it, and what it
//! answers.

use super::{
    Relay,
    access::Token,
    failure::Failure,
    limits::Client,
    params::Params,
    receiving::Receiving,
    reply,
    room::{Wants, Who, Woken},
    session::Found,
};
use crate::door::Held;
use axum::{body::Body, http::Response};
use bytes::Bytes;
use std::time::Duration;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};

const RECEIVE_TAKES: &[&str] = &["after", "read", "wait", "only", "skip", "own", "presence"];
/// How often the service is asked again while somebody waits, where its yes holds for no less and no longer (CHOICES-agentwire 11).
const ASKED_AGAIN_S_MIN: u64 = 1;
const ASKED_AGAIN_S_MAX: u64 = 5;
const READ_TAKES: &[&str] = &["after", "wait", "only", "skip", "presence"];

/// A receive or a read that may begin.
pub(super) struct Receive {
    found: Found,
    who: Who,
    /// Whoever reads is asked about by this again.
    token: Option<Token>,
    /// Whether the service is asked again, while it waits and before it answers.
    asked: bool,
    wants: Wants,
    wait: Option<Duration>,
    /// What a receive acknowledges as it begins; one that has nothing to acknowledge then does as it returns.
    begins_with: Option<u64>,
}

/// How a wait ended well.
struct Ended {
    /// The last entry that there was.
    upto: u64,
    /// The presence from before it ended.
    presence: Bytes,
}

impl Relay {
    /// A participant is about to receive.
    ///
    /// # Errors
    /// 404, 403, 400.
    pub(super) async fn receive(
        &self,
        address: &str,
        secret: &str,
        query: Option<&str>,
        token: Option<&Token>,
    ) -> Result<Receive, Failure> {
        let found = self.session(address).await?;
        let caller = self.caller(&found, secret)?;
        let params = Params::parse(query, RECEIVE_TAKES)?;
        let asked = self.admit(&found, caller.number, token).await?.asked;
        // As it was before this receive (CHOICES-agentwire 34).
        let after = params.after.unwrap_or_else(|| found.room.read_of(caller.number));
        let wants = Wants { after, own: params.own, presence: params.presence, filter: params.filter };
        Ok(Receive {
            found,
            who: Who::Participant(caller.number),
            token: None,
            asked,
            wants,
            wait: params.wait,
            begins_with: params.read.or(params.after),
        })
    }

    /// Somebody is about to read.
    ///
    /// # Errors
    /// 404, 400.
    pub(super) async fn read(
        &self,
        address: &str,
        query: Option<&str>,
        token: Option<Token>,
    ) -> Result<Receive, Failure> {
        let found = self.session(address).await?;
        let params = Params::parse(query, READ_TAKES)?;
        let asked = self.admit_reader(&found, token.as_ref()).await?.asked;
        let after = params.after.unwrap_or(0);
        let wants = Wants { after, own: true, presence: params.presence, filter: params.filter };
        let who = Who::Reader;
        Ok(Receive { found, who, token, asked, wants, wait: params.wait, begins_with: None })
    }

    /// Receives or reads: returns what there is, or waits until there is something.
    ///
    /// # Errors
    /// 403, 404, 409, 503.
    pub(super) async fn run(
        &self,
        receive: Receive,
        held: &Held,
        client: Client,
    ) -> Result<Response<Body>, Failure> {
        let Receive { found, who, token, asked, mut wants, wait, begins_with } = receive;
        let room = &found.room;
        let again = Again { found: &found, who, token: token.as_ref(), asked };
        let deadline = wait.map(|wait| Instant::now() + wait);
        let receiving = Receiving::begin(self, room, who);
        if let (Who::Participant(number), Some(read)) = (who, begins_with) {
            Box::pin(self.acknowledge(room, number, read)).await?;
        }
        let (seen, presence) = loop {
            let seen = Box::pin(self.look(room, who, &wants, None)).await?;
            if !seen.lines.is_empty() || wait == Some(Duration::ZERO) {
                let presence = room.presence_for(who);
                break (seen, presence);
            }
            // What was passed over is not looked at again.
            wants.after = wants.after.max(seen.covered);
            let account = match who {
                Who::Participant(number) => {
                    Box::pin(self.tell_waiting(room)).await?;
                    room.account_of(number)
                }
                Who::Reader => None,
            };
            let _waits = self.limits.wait(&account.map_or_else(|| client.clone(), Client::Account))?;
            let ended = match room.wait(receiving.ticket, who, wants.clone(), self.now()) {
                Ok(woken) => {
                    let _holding = held.hold();
                    let ended = self.waits(&receiving, woken, deadline, &again).await?;
                    self.may_go_on(&again).await?;
                    ended
                }
                // Something came meanwhile.
                Err(None) => continue,
                Err(Some(woken)) => ended(woken)?,
            };
            let seen = Box::pin(self.look(room, who, &wants, Some(ended.upto))).await?;
            break (seen, ended.presence);
        };
        if let (Who::Participant(number), None) = (who, begins_with) {
            Box::pin(self.acknowledge(room, number, seen.covered)).await?;
        }
        drop(receiving);
        if who != Who::Reader {
            Box::pin(self.tell_received(room)).await;
        }
        Ok(reply::lines(&seen.lines, &presence))
    }

    /// Waits until it is woken, its time is up, or the relay stops.
    async fn waits(
        &self,
        receiving: &Receiving,
        mut woken: oneshot::Receiver<Woken>,
        deadline: Option<Instant>,
        again: &Again<'_>,
    ) -> Result<Ended, Failure> {
        let mut stopping = self.stopping.clone();
        let up = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // Who is woken was woken before all else.
            biased;
            woken = &mut woken => return ended(woken.unwrap_or(Woken::Ended)),
            () = up => {}
            refusal = self.refused(again) => return Err(refusal),
            _ = stopping.wait_for(|stopping| *stopping) => {
                return Err(Failure::busy("the relay is stopping"));
            }
        }
        match receiving.room.stop_waiting(receiving.ticket, self.now()) {
            Some((upto, presence)) => Ok(Ended { upto, presence }),
            // It was woken at the same time.
            None => ended(woken.await.unwrap_or(Woken::Ended)),
        }
    }
}

/// Who is asked about again.
struct Again<'a> {
    found: &'a Found,
    who: Who,
    token: Option<&'a Token>,
    asked: bool,
}

impl Relay {
    /// Whether somebody who waited may go on.
    ///
    /// # Errors
    /// 403, 503.
    async fn may_go_on(&self, again: &Again<'_>) -> Result<(), Failure> {
        if !again.asked {
            return Ok(());
        }
        let admitted = match again.who {
            Who::Participant(number) => Box::pin(self.admit(again.found, number, None)).await,
            Who::Reader => Box::pin(self.admit_reader(again.found, again.token)).await,
        };
        admitted.map(|_| ())
    }

    /// Asks every few seconds, until the service refuses somebody who waits: a revoked token takes effect within them.
    async fn refused(&self, again: &Again<'_>) -> Failure {
        if !again.asked {
            return std::future::pending().await;
        }
        let every_s = self.settings.access_cache_s.clamp(ASKED_AGAIN_S_MIN, ASKED_AGAIN_S_MAX);
        loop {
            tokio::time::sleep(Duration::from_secs(every_s)).await;
            match self.may_go_on(again).await {
                Err(refusal) if refusal.is_refusal() => return refusal,
                // Where there is no answer it is asked once more before anything is answered.
                _ => {}
            }
        }
    }
}

/// How it ends that was woken.
fn ended(woken: Woken) -> Result<Ended, Failure> {
    match woken {
        Woken::Answer { upto, presence } => Ok(Ended { upto, presence }),
        Woken::Replaced => Err(Failure::replaced()),
        Woken::Refused(why) => Err(Failure::refused(why.as_ref())),
        Woken::Ended => Err(Failure::absent("session")),
    }
}
