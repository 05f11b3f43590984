//! How an agent comes to be, whoever asks for it: an id, a key for its texts, and the command with the texts beside it.

use arena_journal::{Submission, TextError, TextOwner, Texts, vault::random};
use arena_schema::{
    command::registry::{NewCredential, RegisterAgent},
    id::{AgentId, ChallengePolicy, ConnectionMethod, Handle, Partition, Protocol, PublicSlug},
};

/// An agent to be.
#[derive(Debug)]
pub struct NewAgent<'a> {
    /// Its permanent name.
    pub handle: Handle,
    /// Its name for display.
    pub name: Option<&'a str>,
    /// What it speaks.
    pub protocol: Protocol,
    /// How it is reached.
    pub method: ConnectionMethod,
    /// The address that we post to, where that is the method.
    pub endpoint: Option<&'a str>,
    /// Whether others may challenge it.
    pub challenges: ChallengePolicy,
    /// Its secrets' hashes.
    pub credentials: Vec<NewCredential>,
}

impl NewAgent<'_> {
    /// Draws its id, keeps a key for its texts in the vault (durable, and so it may block for a while), and makes the command. Who
    /// submits it forgets the owner again where it is refused.
    ///
    /// # Errors
    /// [`TextError`].
    pub fn submission(
        self,
        texts: &Texts,
        partition: Partition,
    ) -> Result<(TextOwner, Submission), TextError> {
        let id = AgentId::from_random(partition, random());
        let owner = TextOwner::Agent(id);
        texts.create_owner(owner)?;
        let seal =
            |text: Option<&str>| text.map(|text| texts.seal(owner, text)).transpose().map(Option::unzip);
        let ((name, name_sealed), (endpoint, endpoint_sealed)) = (seal(self.name)?, seal(self.endpoint)?);
        let mut submission = Submission::new(RegisterAgent {
            id,
            public_slug: PublicSlug(random()),
            handle: self.handle,
            name,
            protocol: self.protocol,
            method: self.method,
            endpoint,
            challenges: self.challenges,
            credentials: self.credentials,
        });
        submission.texts.extend(name_sealed.into_iter().chain(endpoint_sealed));
        Ok((owner, submission))
    }
}
