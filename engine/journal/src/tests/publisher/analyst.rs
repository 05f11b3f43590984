//! An analyst's client.
