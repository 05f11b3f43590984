//! The harness that the tests share: a served arena, agents of every kind of behaviour.
