//! Who asks, and what they may.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a caller must be for a route. A role may do all that a lower one may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// No identity is needed: health, the description of the interface.
    #[serde(skip)]
    Anyone,
    Viewer,
    Editor,
    Approver,
    Admin,
}

impl Role {
    /// All that an identity can have, the lowest first.
    pub const ALL: [Role; 4] = [Role::Viewer, Role::Editor, Role::Approver, Role::Admin];

    /// As tokens and answers write it.
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

/// How a caller was recognised.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Identity {
    /// Not at all; good for [`Role::Anyone`] alone.
    Anonymous,
    /// A program of this machine, in local mode.
    Local,
    /// A token, by its id.
    Token(i64),
    /// A subject of the OIDC issuer.
    Oidc(String),
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub identity: Identity,
    /// What stands in the audit log.
    pub name: String,
    pub role: Role,
    /// Names of the data sources that it is bound to; `None`: all.
    pub datasources: Option<Vec<String>>,
    /// Where there are any, it may do what they name and nothing else.
    pub scopes: Vec<String>,
}

impl Caller {
    /// Nobody in particular.
    pub fn anonymous() -> Caller {
        Caller {
            identity: Identity::Anonymous,
            name: "anonymous".to_owned(),
            role: Role::Anyone,
            datasources: None,
            scopes: Vec::new(),
        }
    }

    /// Whoever passed local mode's refusals: a program of this machine's user.
    pub fn local() -> Caller {
        Caller {
            identity: Identity::Local,
            name: "local".to_owned(),
            role: Role::Admin,
            ..Caller::anonymous()
        }
    }

    /// What keeps one caller's keys and limits apart from another's.
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

    /// Whether it may bind somebody to these data sources, and to no more than itself; `None`: all.
    pub fn may_bind(&self, wanted: Option<&[String]>) -> bool {
        match (&self.datasources, wanted) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(_), Some(wanted)) => wanted.iter().all(|name| self.may_read(name)),
        }
    }

    /// Whether it may see what is in this data source.
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
