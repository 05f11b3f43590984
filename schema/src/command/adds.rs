//! Which commands open or add something, and which end or free something or keep what is open going. Near a limit of the
//! store only the latter are let in, so each command must be sorted here: the match has no arm for the rest.

use super::Command;

impl Command {
    /// Whether it opens or adds something that takes more room from then on, and so is refused at the door where the store is
    /// nearly full.
    #[expect(clippy::match_same_arms, reason = "each arm says why")]
    pub const fn adds(&self) -> bool {
        match self {
            Self::RegisterAgent(_) | Self::OpenMatch(_) => true,
            // A new address is a text more; a door that opens or shuts is a bit.
            Self::SetEndpoint(body) => body.endpoint.is_some(),
            // It ends a secret, which may be in wrong hands.
            Self::RotateCredential(_) => false,
            // A match was opened where partition 0 decided on it. What stands behind it on its way, a gateway's end or a
            // match's, would wait with it.
            Self::TakeMatch(_) | Self::ReturnMatch(_) => false,
            // They bring a match to its end.
            Self::SubmitMove(_) | Self::RecordStrike(_) | Self::AbortMatch(_) => false,
            // A session, a name and an entry stay; somebody who comes again writes an entry too.
            Self::CreateSession(_) | Self::JoinSession(_) | Self::RejoinSession(_) | Self::SendEntry(_) => {
                true
            }
            // What was sent is read, and those who are done leave.
            Self::AcknowledgeEntries(_) | Self::LeaveSession(_) | Self::AnswerDeletion(_) => false,
            // Without the one a session would end that somebody receives in; the other may take an account away.
            Self::TouchSession(_) | Self::SetAccount(_) => false,
            // Without them nothing goes on, or ends.
            Self::AnnounceSequencer(_)
            | Self::AnnounceGateway(_)
            | Self::GatewayGone(_)
            | Self::Tick(_)
            | Self::ActivateRules(_)
            | Self::CloseEra(_)
            | Self::BeginLineage(_)
            | Self::OpenPartition(_)
            | Self::AcknowledgeOutbox(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Command, command::registry::SetEndpoint, golden::samples};
    use std::collections::BTreeSet;

    #[test]
    fn what_is_refused_near_a_limit_is_this_and_nothing_else() {
        let samples = samples::commands();
        let kinds: BTreeSet<&str> = samples.iter().map(|(_, command)| command.name()).collect();
        let known: BTreeSet<&str> = Command::KINDS.iter().map(|(_, name)| *name).collect();
        assert_eq!(kinds, known, "there is a sample of each");
        let adding: BTreeSet<&str> =
            samples.iter().filter(|(_, command)| command.adds()).map(|(_, command)| command.name()).collect();
        assert_eq!(
            adding,
            BTreeSet::from([
                "CreateSession",
                "JoinSession",
                "OpenMatch",
                "RegisterAgent",
                "RejoinSession",
                "SendEntry",
                "SetEndpoint"
            ])
        );
    }

    #[test]
    fn an_endpoint_adds_only_where_there_is_a_new_address() {
        let samples = samples::commands();
        let endpoint = samples.iter().find_map(|(_, command)| match command {
            Command::SetEndpoint(body) if body.endpoint.is_some() => Some(body.clone()),
            _ => None,
        });
        let endpoint = endpoint.unwrap();
        assert!(Command::from(endpoint.clone()).adds());
        assert!(!Command::from(SetEndpoint { endpoint: None, ..endpoint }).adds());
    }
}
