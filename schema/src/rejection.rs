//! Why a command may not happen.

use crate::codec::wire_enum;

wire_enum! {
    /// The engine's refusals. Codes and names are stable; 0 is no refusal (it stands for "accepted" in
    /// [`crate::event::system::SecondKeyKept`]).
    pub enum Rejection {
        /// The number is at or below the producer's mark, or the producer is gone; nothing was done now.
        Expired = 1 => "expired",
        /// The number was used with the same body.
        Duplicate = 2 => "duplicate",
        /// The number was used with another body.
        NumberReused = 3 => "number_reused",
        /// Only the sequencer may ask for this.
        NotSequencer = 4 => "not_sequencer",
        /// These rules know no such kind.
        UnknownKind = 5 => "unknown_kind",
        /// The body is not of its kind.
        Malformed = 6 => "malformed",
        /// It must be alone in its record.
        NotAlone = 7 => "not_alone",
        /// The credential was replaced or never was.
        StaleCredential = 8 => "stale_credential",
        /// The credential is another's.
        NotAllowed = 9 => "not_allowed",
        /// The second key was used with the same body; the place of its outcome is in the state.
        SecondKeyReplayed = 10 => "second_key_replayed",
        /// The second key was used with another body.
        SecondKeyConflict = 11 => "second_key_conflict",
        /// A named cap of the state is reached.
        LimitReached = 12 => "limit_reached",
        /// Some live process does not know these rules, or they are not the next ones.
        RulesUnknown = 13 => "rules_unknown",
        /// The lineage's last record in common is not the journal's.
        LineageMismatch = 14 => "lineage_mismatch",
        /// Another partition decides this, or has to be the one that sends it.
        WrongPartition = 15 => "wrong_partition",
        /// No such partition is open.
        UnknownPartition = 16 => "unknown_partition",
        /// An entry of an outbox came before the one that it follows; it is not used up.
        OutboxGap = 17 => "outbox_gap",
        /// As much waits for another partition as may.
        OutboxFull = 18 => "outbox_full",
        /// The other side has taken what was never sent: one of the two histories is not the one that it was.
        OutboxForked = 19 => "outbox_forked",

        /// The handle is somebody's.
        NameTaken = 101 => "name_taken",
        /// No such agent.
        UnknownAgent = 102 => "unknown_agent",
        /// The registration contradicts itself (an endpoint without its method, a credential twice).
        InvalidRegistration = 103 => "invalid_registration",

        /// The match is over and gone.
        Gone = 301 => "gone",
        /// No such game.
        UnknownGame = 302 => "unknown_game",
        /// Both players are the same agent.
        SelfMatch = 303 => "self_match",
        /// The one challenged takes no challenges.
        ChallengesClosed = 304 => "challenges_closed",
        /// The pair has as many open matches as it may.
        PairLimit = 305 => "pair_limit",
        /// One of the agents has as many open matches as it may.
        AgentLimit = 306 => "agent_limit",
        /// The match's id is taken.
        MatchIdTaken = 307 => "match_id_taken",
        /// The deadline is not from 500 to 60,000 ms.
        DeadlineOutOfRange = 308 => "deadline_out_of_range",
        /// That ply is not to be made now.
        StalePly = 309 => "stale_ply",
        /// That asking is past, or was another gateway's.
        StaleAttempt = 310 => "stale_attempt",
        /// That seat is not to move.
        NotToAct = 311 => "not_to_act",
        /// One of the agents does not play this game.
        GameNotPlayed = 312 => "game_not_played",
        /// Who moves first is for unrated matches alone.
        FirstIsRated = 313 => "first_is_rated",
        /// Matches against the house are never rated.
        HouseUnrated = 314 => "house_unrated",

        /// The session ended.
        SessionGone = 701 => "session_gone",
        /// The session's id is taken.
        SessionIdTaken = 702 => "session_id_taken",
        /// The session's address is another session's.
        SessionAddressTaken = 703 => "session_address_taken",
        /// The name is another participant's, and cannot be taken back now.
        SessionNameTaken = 704 => "session_name_taken",
        /// The link's secret is another participant's.
        SessionSecretTaken = 705 => "session_secret_taken",
        /// No such participant, or its name was taken back.
        UnknownParticipant = 706 => "unknown_participant",
        /// The participant left and has not joined again.
        NotIn = 707 => "not_in",
        /// The payload is too large, or no object where it must be one, or one where it must not; or its type or file name is
        /// empty or too long.
        InvalidEntry = 708 => "invalid_entry",
    }
}
