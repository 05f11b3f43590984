//! The known name that is most like an unknown one.

use strsim::damerau_levenshtein;

/// The one of `known` that `name` was most likely meant to be. A right last part in a wrong group (`access_url` for
/// `agentwire.access_url`) counts as one slip, and so does a group's name alone.
pub(super) fn nearest<'a>(name: &str, separator: &str, known: impl Iterator<Item = &'a str>) -> &'a str {
    let written = name.to_lowercase();
    known
        .min_by_key(|candidate| {
            let candidate = candidate.to_lowercase();
            let whole = damerau_levenshtein(&written, &candidate);
            let last = 1 + damerau_levenshtein(last(&written, separator), last(&candidate, separator));
            let groups = candidate.match_indices(separator).map(|(end, _)| &candidate[..end]);
            let group = groups.map(|group| 1 + damerau_levenshtein(&written, group)).min();
            (whole.min(last).min(group.unwrap_or(whole)), whole)
        })
        .expect("there is at least one setting")
}

fn last<'a>(name: &'a str, separator: &str) -> &'a str {
    name.rsplit(separator).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[track_caller]
    fn check(name: &str, expected: &str) {
        let known =
            ["data", "public_url", "agentarena.deadline_ms", "ludux.deadline_ms", "agentwire.access_url"];
        assert_eq!(nearest(name, ".", known.into_iter()), expected);
    }

    #[test]
    fn a_slip_in_a_name_finds_the_name() {
        check("dat", "data");
        check("agentwire.acess_url", "agentwire.access_url");
        check("AgentArena.Deadline", "agentarena.deadline_ms");
    }

    #[test]
    fn a_name_without_its_group_finds_the_group() {
        check("access_url", "agentwire.access_url");
        check("deadline_ms", "ludux.deadline_ms");
    }

    #[test]
    fn a_group_alone_finds_a_setting_of_the_group() {
        check("agentwir", "agentwire.access_url");
    }

    #[test]
    fn the_nearest_group_wins_among_equal_last_parts() {
        check("agentarene.deadline_ms", "agentarena.deadline_ms");
    }
}
