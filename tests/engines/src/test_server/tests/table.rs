//! The table of calls against the OpenAPI documents, where they are there.

use super::super::table;
use super::*;
use crate::openapi::Document;

#[test]
fn the_calls_are_those_of_the_documents() {
    for generation in BOTH {
        let Some(document) = Document::of(generation.version()) else { continue };
        for call in table::all(generation) {
            let place = format!("{generation:?} {} {}", call.method, call.path);
            let path = format!("/dolphinscheduler/{}", call.path.replace("{project}", "7"));
            let path = path.replace("{code}", "7").replace("{id}", "7");
            let documented =
                document.call(call.method, &path).unwrap_or_else(|| panic!("there is no {place}"));
            let named = |is_wanted: &dyn Fn(bool) -> bool| -> Vec<(String, String)> {
                let wanted = call.params.iter().filter(|(_, needed, _)| is_wanted(*needed));
                wanted.map(|(name, _, kind)| (name.clone(), sample(*kind).to_owned())).collect()
            };
            let none = Vec::<String>::new();
            assert_eq!(document.request_problems(documented, &named(&|_| true)), none, "{place}");
            assert_eq!(document.request_problems(documented, &named(&|needed| needed)), none, "{place}");
            let answer = json!({"code": 1, "msg": "", "data": null, "failed": true, "success": false});
            let problems = document.answer_problems(documented, call.status, &answer, &call.parts);
            assert_eq!(problems, none, "{place}");
        }
    }
}

fn sample(kind: table::Kind) -> &'static str {
    match kind {
        table::Kind::Text => "",
        table::Kind::Number => "1",
        table::Kind::Flag => "true",
        table::Kind::Word(words) => words[0],
    }
}
