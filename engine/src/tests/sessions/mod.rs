//! agentwire's sessions: each rule of the protocol's text told in scripts, and once more by an oracle that shares no code.

mod asking;
mod caps;
mod entries;
mod expiry;
mod growth;
mod joining;
mod leaving;
mod lookups;
mod oracle;
mod reads;
mod rooms;
mod rules;
mod taking_back;

/// Rules 3 and a gateway, which no script of sessions goes without.
const BEGIN: &str = "
    ~09:59:59.000 rules 2
    ~09:59:59.001 rules 3
    ~09:59:59.002 gateway a rules=3
";

#[track_caller]
fn check(script: &str, expect: expect_test::Expect) {
    crate::testing::check(&format!("{BEGIN}{script}"), expect);
}

/// The state that a script makes.
fn made_by(script: &str) -> crate::State {
    crate::testing::made_by(&format!("{BEGIN}{script}"))
}
