//! An account takes its own names back (agentwire, *Access*): whether whoever holds one is gone.

use super::{Relay, access::Said, failure::Failure, name::Name, session::Found};
use arena_schema::{
    command::sessions::{Account, GoneBecause, TakeBack},
    id::NameTag,
};

/// For how long a holder has not received that is gone, in microseconds.
const SILENT_FOR_US: u64 = 3_600 * 1_000_000;

impl Relay {
    /// Whether an account takes a name back where it is taken; none where the name is not its own.
    ///
    /// # Errors
    /// The vault cannot be read now.
    pub(super) async fn takes(
        &self,
        found: &Found,
        name: Name<'_>,
        tag: NameTag,
        account: Option<(&str, Account)>,
    ) -> Result<Option<TakeBack>, Failure> {
        let Some((_, account)) = account.filter(|(account, _)| name.is_of(account)) else { return Ok(None) };
        let holder = {
            let Some(part) = self.parts.get(found.room.partition) else { return Ok(None) };
            let state = part.handle.state();
            let session = state.sessions().get(found.room.key);
            let same = |own: &Account| own.tag == account.tag;
            session.and_then(|session| {
                let (number, known) = session.by_name(&tag)?;
                (known.is_in() && known.account.as_ref().is_some_and(same)).then_some(number)
            })
        };
        // Of nobody, of another account, or of one that left it is taken without more.
        let Some(holder) = holder else { return Ok(Some(TakeBack { gone: None })) };
        if self.is_silent(found, holder) {
            return Ok(Some(TakeBack { gone: Some(GoneBecause::Silent) }));
        }
        let refused = self.is_refused(found, name, holder).await?;
        Ok(Some(TakeBack { gone: refused.then_some(GoneBecause::Refused) }))
    }

    fn is_silent(&self, found: &Found, holder: u32) -> bool {
        let since = found.room.silent_since(holder);
        since.is_some_and(|since| self.now().us_since(since) >= SILENT_FOR_US)
    }

    /// Whether the service refuses the holder's own token now. It is asked, whatever is kept; no answer is no refusal.
    async fn is_refused(&self, found: &Found, name: Name<'_>, holder: u32) -> Result<bool, Failure> {
        let by = self.credential(found.room.id, holder).await?;
        let Some(access) = self.access.as_ref().filter(|_| by.is_some()) else { return Ok(false) };
        let said = access.join(&found.address, name.as_str(), &by, found.room.owned).await;
        Ok(matches!(said, Said::No(_)))
    }
}
