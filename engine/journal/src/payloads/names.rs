//! What owners and objects are called where payloads lie.

use crate::texts::TextOwner;
use arena_schema::id::ObjectId;

/// An owner's name: its kind and its id with this between.
pub(super) fn owner_name(owner: TextOwner, between: char) -> String {
    let name = owner.vault_name();
    let (kind, id) =
        name.strip_suffix("/texts").and_then(|name| name.split_once('/')).expect("so keys are named");
    format!("{kind}{between}{id}")
}

/// The owner that [`owner_name`] named so.
pub(super) fn owner_of_name(name: &str, between: char) -> Option<TextOwner> {
    let (kind, id) = name.split_once(between)?;
    TextOwner::from_vault_name(&format!("{kind}/{id}/texts"))
}

/// The object whose id is written so: 32 hexadecimal digits in lower case.
pub(super) fn object_of_name(name: &str) -> Option<ObjectId> {
    let id = ObjectId(hex::decode(name).ok()?.try_into().ok()?);
    (id.to_string() == name).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arena_schema::id::{AgentId, Partition, SessionId};

    #[test]
    fn owners_and_objects_come_back_from_their_names_and_nothing_else_does() {
        for owner in [
            TextOwner::Agent(AgentId::from_random(Partition(7), [0xab; 14])),
            TextOwner::Session(SessionId::from_random(Partition(7), [0xab; 14])),
        ] {
            for between in ['-', '.', '/'] {
                assert_eq!(owner_of_name(&owner_name(owner, between), between), Some(owner));
            }
        }
        for none in ["", "session", "session-", "session-x", "duel-00070707-0707-8707-8707-070707070707"] {
            assert_eq!(owner_of_name(none, '-'), None, "{none}");
        }
        let object = ObjectId([0xcd; 16]);
        assert_eq!(object_of_name(&object.to_string()), Some(object));
        for none in ["", "cd", &"CD".repeat(16), &"cd".repeat(17), &"zz".repeat(16)] {
            assert_eq!(object_of_name(none), None, "{none}");
        }
    }
}
