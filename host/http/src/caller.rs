//! The caller and its rights.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The role that a route requires. A role includes the lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// No identity is required: health, the OpenAPI description.
    #[serde(skip)]
    Anyone,
    Viewer,
    Editor,
    Approver,
    Admin,
}

impl Role {
    /// All roles of identities, lowest first.
    pub const ALL: [Role; 4] = [Role::Viewer, Role::Editor, Role::Approver, Role::Admin];

    /// The name in tokens and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Anyone => "anyone",
            Role::Viewer => "viewer",
            Role::Editor => "editor",
            Role::Approver => "approver",
            Role::Admin => "admin",
        }
    }

    /// The role of this name.
    pub fn named(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// How a caller was authenticated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Identity {
    /// Not at all: valid for [`Role::Anyone`] only.
    Anonymous,
    /// A program of this machine, in local mode.
    Local,
    /// A token, by its id.
    Token(i64),
    /// A subject of the OIDC issuer.
    Oidc(String),
}

/// The authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub identity: Identity,
    /// The name in the audit log.
    pub name: String,
    pub role: Role,
    /// Names of the data sources that it is bound to; `None`: all.
    pub datasources: Option<Vec<String>>,
    /// If not empty, the caller may only do what these scopes allow.
    pub scopes: Vec<String>,
    /// When its token or JWT expires, milliseconds since 1970; `None`: never.
    pub expires_at_ms: Option<i64>,
}

impl Caller {
    /// A caller without an identity.
    pub fn anonymous() -> Caller {
        Caller {
            identity: Identity::Anonymous,
            name: "anonymous".to_owned(),
            role: Role::Anyone,
            datasources: None,
            scopes: Vec::new(),
            expires_at_ms: None,
        }
    }

    /// A caller that passed the checks of local mode: a program of this machine's user.
    pub fn local() -> Caller {
        Caller {
            identity: Identity::Local,
            name: "local".to_owned(),
            role: Role::Admin,
            ..Caller::anonymous()
        }
    }

    /// Separates idempotency keys and rate limits of different callers.
    pub fn key(&self) -> String {
        match &self.identity {
            Identity::Anonymous => "anonymous".to_owned(),
            Identity::Local => "local".to_owned(),
            Identity::Token(id) => format!("token:{id}"),
            Identity::Oidc(subject) => format!("oidc:{subject}"),
        }
    }

    /// `anonymous`, `local`, `token` or `oidc`.
    pub fn kind(&self) -> &'static str {
        match &self.identity {
            Identity::Anonymous => "anonymous",
            Identity::Local => "local",
            Identity::Token(_) => "token",
            Identity::Oidc(_) => "oidc",
        }
    }

    /// Whether it may bind a caller to these data sources, which must be among its own; `None`: all.
    pub fn may_bind(&self, wanted: Option<&[String]>) -> bool {
        match (&self.datasources, wanted) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(_), Some(wanted)) => wanted.iter().all(|name| self.may_read(name)),
        }
    }

    /// Whether it may read this data source.
    pub fn may_read(&self, datasource: &str) -> bool {
        self.datasources.as_ref().is_none_or(|names| names.iter().any(|name| name == datasource))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_may_do_all_that_a_lower_one_may() {
        assert!(Role::Admin > Role::Approver && Role::Approver > Role::Editor);
        assert!(Role::Editor > Role::Viewer && Role::Viewer > Role::Anyone);
    }

    #[test]
    fn a_role_is_found_by_its_name() {
        assert!(Role::ALL.into_iter().all(|role| Role::named(role.as_str()) == Some(role)));
        assert_eq!(Role::named("anyone"), None);
        assert_eq!(Role::named("root"), None);
    }
}
