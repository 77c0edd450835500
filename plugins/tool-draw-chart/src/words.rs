//! The tool's messages for people, in both languages.

use lakeport_sdk::Error;

use crate::chart::Reason;

pub fn no_table(chinese: bool) -> &'static str {
    if chinese {
        "还没有可以画的表，请先用 run_sql 查询。"
    } else {
        "There is no table to draw yet; run_sql makes one."
    }
}

pub fn no_such_call(id: &str, chinese: bool) -> String {
    if chinese {
        format!("没有调用 {id} 产生的表。不写 `callId` 时使用最近的一张。")
    } else {
        format!("No table was made by the call {id:?}. Without `callId` the latest one is drawn.")
    }
}

impl Reason {
    /// As a plugin's error.
    pub fn error(&self, chinese: bool) -> Error {
        let (code, message) = match (self, chinese) {
            (Reason::FewRows(rows), false) => {
                ("nothing_to_draw", format!("The table has {rows} rows; a chart needs two at least."))
            }
            (Reason::FewRows(rows), true) => {
                ("nothing_to_draw", format!("表中只有 {rows} 行，画图至少需要两行。"))
            }
            (Reason::NoNumbers, false) => {
                ("nothing_to_draw", "The table has no column with numbers to draw.".to_owned())
            }
            (Reason::NoNumbers, true) => ("nothing_to_draw", "表中没有可以画的数值列。".to_owned()),
            (Reason::NoAxis, false) => (
                "nothing_to_draw",
                "The table has no column of times or names to draw the numbers over.".to_owned(),
            ),
            (Reason::NoAxis, true) => ("nothing_to_draw", "表中没有可作横轴的时间列或名称列。".to_owned()),
            (Reason::NoColumn { name, known }, false) => {
                ("invalid_input", format!("The table has no column {name:?}; it has {}.", known.join(", ")))
            }
            (Reason::NoColumn { name, known }, true) => {
                ("invalid_input", format!("表中没有列“{name}”，现有：{}。", known.join("、")))
            }
            (Reason::NotNumbers(name), false) => {
                ("invalid_input", format!("The column {name:?} holds no numbers, so it cannot be `y`."))
            }
            (Reason::NotNumbers(name), true) => {
                ("invalid_input", format!("列“{name}”不是数值，不能作为 `y`。"))
            }
        };
        Error::new(code, message)
    }
}
