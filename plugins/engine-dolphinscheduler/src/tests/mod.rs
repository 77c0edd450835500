//! Tests of the connector against scripted answers.
