//! The page to read and try the interface: three files of our own, embedded in the binary.
//!
//! The page reads `/openapi.json` and sends requests to this server only. It loads nothing from other hosts,
//! and shows the description's texts as text, never as markup; the policy makes the browser enforce both.
//! This module knows no routes: the routes that serve the files add [`CONTENT_SECURITY_POLICY`].

/// A header of each of the files.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /docs`, `text/html; charset=utf-8`.
pub fn page() -> &'static str {
    include_str!("page.html")
}

/// `GET /docs/app.js`, `text/javascript; charset=utf-8`.
pub fn script() -> &'static str {
    include_str!("app.js")
}

/// `GET /docs/style.css`, `text/css; charset=utf-8`.
pub fn style() -> &'static str {
    include_str!("style.css")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nothing_comes_from_another_host() {
        for file in [page(), script(), style()] {
            assert!(!file.contains("http://") && !file.contains("https://"), "an address of another host");
        }
        assert!(!style().contains("url(") && !style().contains("@import"), "a style may not fetch");
        let named: BTreeSet<&str> =
            page().split('"').filter(|text| text.starts_with('/') && text.len() > 1).collect();
        assert_eq!(Vec::from_iter(named), ["/docs/app.js", "/docs/style.css", "/openapi.json"]);
    }

    #[test]
    fn the_page_holds_to_its_own_policy() {
        assert!(!CONTENT_SECURITY_POLICY.contains("unsafe"));
        assert!(!page().contains("<style") && !page().contains(" style="), "no inline style");
        assert_eq!(page().matches("<script").count(), page().matches("<script type=\"module\" src=").count());
        for handler in [" onclick=", " onload=", " oninput=", "javascript:"] {
            assert!(!page().contains(handler), "no inline script");
        }
    }

    #[test]
    fn texts_of_the_description_never_become_markup() {
        for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser"] {
            assert!(!script().contains(way), "{way}");
        }
    }
}
