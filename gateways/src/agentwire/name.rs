//! A participant's name (agentwire, *Model*): lower case, one part or two joined by one `/`, each of the letters `a` to `z`,
//! digits and hyphens, starting with a letter or digit; at most 256 bytes.

/// How long a name is at most, in bytes (agentwire, *Limits*).
pub(super) const NAME_BYTES_MAX: usize = 256;

/// A name of the form that the text gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name<'a>(&'a str);

impl<'a> Name<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let is_part = |part: &str| {
            let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            part.bytes().all(fits) && part.bytes().next().is_some_and(|first| first != b'-')
        };
        let parts = match text.split_once('/') {
            Some((one, other)) => is_part(one) && is_part(other),
            None => is_part(text),
        };
        (parts && text.len() <= NAME_BYTES_MAX).then_some(Self(text))
    }

    pub(super) fn as_str(&self) -> &'a str {
        self.0
    }

    /// Whether it is an account's own: the account, or an agent of it (agentwire, *Access*).
    pub(super) fn is_of(&self, account: &str) -> bool {
        self.0 == account || self.0.split_once('/').is_some_and(|(person, _)| person == account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_or_two_and_no_two_look_alike() {
        for good in ["luis", "luis/claude", "luis-wirth/claude-2", "0", "a-", "9/9", &"a".repeat(256)] {
            assert!(Name::parse(good).is_some(), "{good}");
        }
        let long = format!("{}/{}", "a".repeat(128), "b".repeat(128));
        for bad in
            ["", "*", "Luis", "-a", "a/", "/a", "a/-b", "a/b/c", "a b", "a_b", "ä", &"a".repeat(257), &long]
        {
            assert!(Name::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_name_is_its_accounts_own_or_its_agents() {
        let is_of = |name, account| Name::parse(name).unwrap().is_of(account);
        assert!(is_of("luis", "luis") && is_of("luis/claude", "luis"));
        assert!(!is_of("luis-wirth", "luis") && !is_of("claude", "luis") && !is_of("luis", "luis/claude"));
        assert!(is_of("luis/claude", "luis/claude"));
    }
}
