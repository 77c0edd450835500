//! Error codes are part of the interface: each must be in the description's list.

use std::path::Path;

use lakeport::compose;
use lakeport::plugins::{CALL_CODES, ENGINE_CALL_CODES};

/// Constructors of errors with a code, and the text between their bracket and the code.
const MAKERS: [&str; 11] = [
    "Error::bad_request(",
    "Error::forbidden(",
    "Error::conflict(",
    "Error::too_many(",
    "Error::bad_gateway(",
    "Error::unavailable(",
    "Error::timed_out(",
    "Error::refused(",
    ".unique_as(",
    "conflict(",
    "=> \"component_",
];

#[test]
fn every_code_that_is_used_is_listed() {
    let codes = compose::error_codes();
    let mut unlisted = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for crate_name in ["server", "base", "store", "http", "egress", "oidc", "plugins"] {
        let folder = root.join("..").join(crate_name).join("src");
        look_through(&folder, &mut |text| {
            for maker in MAKERS {
                for (at, _) in text.match_indices(maker) {
                    let Some(code) = code_after(&text[at + maker.len()..]) else { continue };
                    if !codes.contains(&code) {
                        unlisted.push(code.to_owned());
                    }
                }
            }
        });
    }
    unlisted.sort();
    unlisted.dedup();
    assert!(unlisted.is_empty(), "add to the error_codes of a part: {unlisted:?}");
}

#[test]
fn each_code_belongs_to_one_part() {
    let codes = compose::error_codes();
    let twice: Vec<_> = codes.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn the_codes_of_calls_are_listed() {
    let codes = compose::error_codes();
    for code in CALL_CODES.iter().chain(ENGINE_CALL_CODES) {
        assert!(codes.contains(code), "{code}");
    }
}

/// The first argument in the form of a code, directly or after a status.
fn code_after(arguments: &str) -> Option<&str> {
    let rest = arguments.trim_start();
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',' || c.is_whitespace());
    let code = rest.strip_prefix('"')?.split('"').next()?;
    let plain = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    plain.then_some(code)
}

fn look_through(folder: &Path, look: &mut impl FnMut(&str)) {
    for entry in std::fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("the sources are there").path();
        if path.is_dir() {
            look_through(&path, look);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.to_string_lossy().contains("tests")
        {
            let text = std::fs::read_to_string(&path).expect("the sources are text");
            // The rest is tests, which make errors of their own.
            look(text.split("#[cfg(test)]").next().unwrap_or_default());
        }
    }
}
