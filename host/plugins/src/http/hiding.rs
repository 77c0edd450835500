//! Secrets in what an upstream sends: replaced before anyone else sees it.

use lakeport_http_rules::hide;
use zeroize::Zeroizing;

/// How deep JSON stands in texts of JSON.
const DEPTH_MAX: usize = 5;

/// The body with `***` for each occurrence of a secret, also within texts of JSON that are written with escapes: `=` may be
/// `\u003d` there.
pub fn hide_all(body: Vec<u8>, secrets: &[Zeroizing<String>]) -> Vec<u8> {
    if secrets.is_empty() { body } else { hide_within(body, secrets, DEPTH_MAX) }
}

fn hide_within(body: Vec<u8>, secrets: &[Zeroizing<String>], depth: usize) -> Vec<u8> {
    let body = secrets.iter().fold(body, |body, secret| hide(body, secret.as_bytes()));
    if depth == 0 || !body.contains(&b'\\') {
        return body;
    }
    let (mut rest, mut kept) = (&body[..], Vec::with_capacity(body.len()));
    while let Some((before, literal, after)) = next_literal(rest) {
        kept.extend_from_slice(before);
        match hidden_literal(literal, secrets, depth) {
            Some(hidden) => kept.extend(hidden),
            None => kept.extend_from_slice(literal),
        }
        rest = after;
    }
    kept.extend_from_slice(rest);
    kept
}

/// The first text in quotes, with what is before and after it.
fn next_literal(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let begin = bytes.iter().position(|&byte| byte == b'"')?;
    let mut at = begin + 1;
    loop {
        match *bytes.get(at)? {
            b'"' => break,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    let (literal, after) = bytes[begin..].split_at(at + 1 - begin);
    Some((&bytes[..begin], literal, after))
}

/// The text without secrets; `None` if it stays as it is.
fn hidden_literal(literal: &[u8], secrets: &[Zeroizing<String>], depth: usize) -> Option<Vec<u8>> {
    if !literal.contains(&b'\\') {
        return None;
    }
    let text: String = serde_json::from_slice(literal).ok()?;
    let hidden = hide_within(text.clone().into_bytes(), secrets, depth - 1);
    if hidden == text.as_bytes() {
        return None;
    }
    serde_json::to_vec(&String::from_utf8_lossy(&hidden)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hidden(body: &str) -> String {
        let secrets = [Zeroizing::new("tok-1/ab+cd==".to_owned()), Zeroizing::new("\"quoted\"".to_owned())];
        String::from_utf8(hide_all(body.as_bytes().to_vec(), &secrets)).unwrap()
    }

    #[test]
    fn a_secret_is_found_however_json_writes_it() {
        assert_eq!(hidden(r#"{"msg":"bad tok-1\/ab+cd\u003d\u003d!"}"#), r#"{"msg":"bad ***!"}"#);
        assert_eq!(hidden(r#"{"\u0074ok-1/ab+cd==":1}"#), r#"{"***":1}"#);
        assert_eq!(hidden("plain tok-1/ab+cd== and no JSON"), "plain *** and no JSON");
        let within = json!({ "a": json!({ "b": "tok-1/ab+cd==" }).to_string() }).to_string();
        assert!(!hidden(&within.replace("==", "\\\\u003d=")).contains("ab+cd"));
    }

    #[test]
    fn all_else_stays_byte_for_byte() {
        for body in
            [r#"{"a" : "x\ny\u00e9 \/", "b":[1.0,"\"", "\ud800"]}"#, r#"C:\path "not closed \"#, "\"", ""]
        {
            assert_eq!(hidden(body), body);
        }
    }
}
