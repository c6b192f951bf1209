//! The authentication that a registry demands when it refuses a request.
//!
//! In: `WWW-Authenticate`. Out: the kind of credentials, and where tokens are. Spec: RFC 9110,
//! section 11.6.1; "Token Authentication Specification" of distribution.

use http::{HeaderMap, header};

/// The authentication to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// Name and password.
    Basic,
    /// A token of this place.
    Bearer {
        realm: String,
        service: Option<String>,
    },
}

impl Challenge {
    /// Returns the first challenge of a kind that is known.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(header::WWW_AUTHENTICATE).iter();
        values
            .filter_map(|value| value.to_str().ok())
            .find_map(parse)
    }
}

fn parse(text: &str) -> Option<Challenge> {
    let (scheme, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    if scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    Some(Challenge::Bearer {
        realm: parameter(rest, "realm")?,
        service: parameter(rest, "service"),
    })
}

/// Returns a parameter of a challenge.
fn parameter(text: &str, wanted: &str) -> Option<String> {
    let mut rest = text;
    loop {
        let (name, after) = rest.split_once('=')?;
        let name = name.trim_matches([' ', ',', '\t']);
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let end = after.find(',').unwrap_or(after.len());
                let (value, after) = after.split_at(end);
                (value.trim().to_owned(), after)
            }
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = after;
    }
}

/// Returns the text before the closing quote, and the text after it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, text.get(at.saturating_add(1)..)?)),
            '\\' => value.push(chars.next()?.1),
            char => value.push(char),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>) -> Option<Challenge> {
        Some(Challenge::Bearer {
            realm: realm.to_owned(),
            service: service.map(str::to_owned),
        })
    }

    #[test]
    fn challenges_as_registries_send_them() {
        let hub = r#"Bearer realm="https://a.example/token",service="r.example",scope="x:y:z,w""#;
        assert_eq!(
            parse(hub),
            bearer("https://a.example/token", Some("r.example"))
        );
        let other = r#"bearer scope="a,b", realm="http://h/t" , error="x""#;
        assert_eq!(parse(other), bearer("http://h/t", None));
        assert_eq!(
            parse("Bearer service=s,realm=http://h"),
            bearer("http://h", Some("s"))
        );
        assert_eq!(parse(r#"Bearer realm="a\"b""#), bearer("a\"b", None));
        assert_eq!(parse("Basic realm=\"x\""), Some(Challenge::Basic));
        for text in [
            "",
            "Bearer",
            "Negotiate abc",
            r#"Bearer realm="open"#,
            "Bearer service=x",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
