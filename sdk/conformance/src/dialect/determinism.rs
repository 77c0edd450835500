//! Types: equal texts give equal answers, alone and with others, and canonical spellings are stable.

use lakeport_bindings::dialect::planner::DataType;

use super::samples::Samples;
use super::trial::{Trial, said, shown};
use crate::report::Area;

/// Parses accepted types again, alone, in reverse order, and by their canonical spelling.
pub async fn types(trial: &mut Trial, samples: &Samples) {
    let texts = samples.types.clone();
    let Some(first) = trial.parse(Area::Determinism, &texts).await else { return };
    let backwards: Vec<String> = texts.iter().rev().cloned().collect();
    let Some(mut second) = trial.parse(Area::Determinism, &backwards).await else { return };
    second.reverse();
    for ((text, first), second) in texts.iter().zip(&first).zip(&second) {
        let place = format!("{}, planner.parse-types, {}", trial.server.product, shown(text));
        let why = "the answer depends on the text and the server alone";
        trial.report.expect(Area::Determinism, first == second, &place, "two answers to one text", why);
        if let Ok(parsed) = first {
            canonical(trial, &place, parsed).await;
        }
    }
}

async fn canonical(trial: &mut Trial, place: &str, parsed: &DataType) {
    let Some(answers) = trial.parse(Area::Determinism, std::slice::from_ref(&parsed.canonical)).await else {
        return;
    };
    let why = "the host compares types by their canonical spelling, of which there is one";
    match answers.into_iter().next() {
        Some(Ok(again)) if again.canonical == parsed.canonical => {}
        Some(Ok(again)) => {
            let what = format!("canonical {:?}, and of that {:?}", parsed.canonical, again.canonical);
            trial.report.add(Area::Determinism, place, what, why);
        }
        Some(Err(problem)) => {
            let what = format!("canonical {:?}, which is refused: {}", parsed.canonical, said(&[problem]));
            trial.report.add(Area::Determinism, place, what, why);
        }
        None => {}
    }
}
