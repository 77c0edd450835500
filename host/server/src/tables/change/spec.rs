//! Specifications of physical changes, as stored: each step is one change of a dialect's plan.

use serde::{Deserialize, Serialize};

use crate::tables::definitions::Definition;
use crate::tables::fields::Field;

/// Steps in order, and the table's definition afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSpec {
    pub table: Definition,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Step {
    CreateTable {
        fields: Vec<Field>,
    },
    CommentTable {
        comment: Option<String>,
    },
    SetBuckets {
        count: i64,
    },
    SetReplicas {
        count: i64,
    },
    RenameTable {
        name: String,
    },
    /// Into the recycle bin, under this name.
    SoftDelete {
        name: String,
        /// The time in the name. `None`: a change of an earlier version; the time of its start.
        #[serde(default)]
        at_ms: Option<i64>,
    },
    /// Out of the recycle bin, under this name.
    Restore {
        name: String,
    },
    Purge,
    AddField {
        field: Field,
    },
    AlterField {
        before: Field,
        after: Field,
    },
    DropField {
        field: Field,
    },
}

impl Step {
    pub fn kind(&self) -> &'static str {
        match self {
            Step::CreateTable { .. } => "create_table",
            Step::CommentTable { .. } => "comment_table",
            Step::SetBuckets { .. } => "set_buckets",
            Step::SetReplicas { .. } => "set_replicas",
            Step::RenameTable { .. } => "rename_table",
            Step::SoftDelete { .. } => "soft_delete",
            Step::Restore { .. } => "restore",
            Step::Purge => "purge",
            Step::AddField { .. } => "add_field",
            Step::AlterField { .. } => "alter_field",
            Step::DropField { .. } => "drop_field",
        }
    }
}

impl ChangeSpec {
    /// The kind of its only step, or `change_table` for several.
    pub fn kind(&self) -> &'static str {
        match self.steps.as_slice() {
            [step] => step.kind(),
            _ => "change_table",
        }
    }

    /// Whether the table no longer exists afterwards.
    pub fn is_purge(&self) -> bool {
        self.steps == [Step::Purge]
    }

    /// The physical steps from one definition to another. Renaming comes last: until then the other steps find
    /// the table by its old name.
    pub fn between(before: &Definition, after: Definition) -> ChangeSpec {
        let mut steps = Vec::new();
        if before.table_comment != after.table_comment {
            steps.push(Step::CommentTable { comment: after.table_comment.clone() });
        }
        if let Some(count) = after.bucket_num.filter(|_| before.bucket_num != after.bucket_num) {
            steps.push(Step::SetBuckets { count });
        }
        if let Some(count) = after.replica_num.filter(|_| before.replica_num != after.replica_num) {
            steps.push(Step::SetReplicas { count });
        }
        if before.table_name != after.table_name {
            steps.push(Step::RenameTable { name: after.table_name.clone() });
        }
        ChangeSpec { table: after, steps }
    }

    /// Removes the steps for members that the database cannot store, by its dialect's capabilities: only the
    /// catalogue keeps them.
    pub fn without_places(&mut self, capabilities: &[String]) {
        let has = |name: &str| capabilities.iter().any(|known| known == name);
        self.steps.retain(|step| match step {
            Step::CommentTable { .. } => has("table_comment"),
            Step::AlterField { before, after } => {
                let commented = Field { comment: after.comment.clone(), ..before.clone() };
                let is_comment_alone = commented.is_as_in_database(after);
                !is_comment_alone || has("field_comment")
            }
            _ => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before() -> Definition {
        Definition {
            table_name: "t".to_owned(),
            db_name: "main".to_owned(),
            bucket_num: Some(4),
            ..Definition::default()
        }
    }

    fn kinds(wanted: &ChangeSpec) -> Vec<&'static str> {
        wanted.steps.iter().map(Step::kind).collect()
    }

    #[test]
    fn several_effects_have_one_order_and_the_name_comes_last() {
        let after = Definition {
            table_name: "u".to_owned(),
            table_comment: Some("c".to_owned()),
            bucket_num: Some(8),
            replica_num: Some(3),
            owner: Some("ann".to_owned()),
            ..before()
        };
        let mut wanted = ChangeSpec::between(&before(), after);
        assert_eq!(kinds(&wanted), ["comment_table", "set_buckets", "set_replicas", "rename_table"]);
        assert_eq!(wanted.kind(), "change_table");
        wanted.without_places(&["field_comment".to_owned()]);
        assert_eq!(kinds(&wanted), ["set_buckets", "set_replicas", "rename_table"]);
    }

    #[test]
    fn what_the_catalogue_alone_keeps_is_no_step() {
        let after = Definition { layer: Some("ODS".to_owned()), owner: Some("ann".to_owned()), ..before() };
        assert!(ChangeSpec::between(&before(), after).steps.is_empty());
    }

    #[test]
    fn unsupported_field_comments_make_no_step() {
        let field = |comment: &str, name: &str| Field {
            id: 1,
            table_id: 1,
            name: name.to_owned(),
            type_text: "TEXT".to_owned(),
            comment: Some(comment.to_owned()),
            is_key: false,
            is_nullable: true,
            default: None,
            place: 1,
            description: None,
        };
        let steps = vec![
            Step::AlterField { before: field("a", "f"), after: field("b", "f") },
            Step::AlterField { before: field("a", "f"), after: field("b", "g") },
        ];
        let mut wanted = ChangeSpec { table: before(), steps };
        wanted.without_places(&[]);
        assert_eq!(wanted.steps.len(), 1);
    }
}
