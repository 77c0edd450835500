//! Questions about tables with abbreviated names and without comments, as people ask them: in two sentences, with shared ends of
//! names, with units.

use crate::answer::answer_of;
use crate::calendar::Day;
use crate::known::Known;
use crate::testing::campus;

/// Questions with what the SQL of each must have; `None`: each must be refused.
fn each(cases: &[(&[&str], Option<&str>)]) {
    let schema = campus();
    let (known, today) = (Known::of(&schema), Day::read("2026-07-19").unwrap());
    for (questions, expected) in cases {
        for question in *questions {
            let answer = answer_of(question, &known, today);
            let sql = answer.map(|answer| answer.sql.split_whitespace().collect::<Vec<&str>>().join(" "));
            match (&sql, expected) {
                (Ok(sql), Some(part)) => assert!(sql.contains(part), "{question}\n  {sql}\n  lacks {part}"),
                _ => assert_eq!(sql.as_deref().ok(), *expected, "{question}: {sql:?}"),
            }
        }
    }
}

#[test]
fn abbreviations_and_beginnings_of_names_are_understood() {
    each(&[
        (&["How many residents are there?"], Some("COUNT(*) AS \"number of resdt\" FROM \"resdt\"")),
        (&["How many buildings do we have?"], Some("FROM \"bldg\"")),
        (&["Show the names of the buildings."], Some("SELECT \"bldg\".\"bldg_nm\" AS")),
        (
            &[
                "What is the average duration of repairs for each fault?",
                "mean duration of repairs per fault type",
            ],
            Some(
                "AVG(\"Maint_Repair\".\"Dur_Min\") AS \"average Dur Min\" FROM \"Maint_Repair\" GROUP BY \"Maint_Repair\".\"Fault_Type\"",
            ),
        ),
        (&["List the wardens of the buildings."], Some("SELECT \"bldg\".\"warden_name\" AS")),
        (&["Which buildings have a lift?"], Some("WHERE \"bldg\".\"has_lift\" = '1'")),
        (&["How many rooms have a rent of more than 500 euros?"], Some("WHERE \"rm\".\"rent_eur\" > 500")),
        // Euros are no pounds.
        (&["How many rooms have a rent of more than 500 pounds?"], None),
    ]);
}

#[test]
fn names_share_their_ends_and_stand_in_a_second_sentence() {
    let both = "SELECT \"resdt\".\"fname\" AS \"fname\", \"resdt\".\"lname\" AS \"lname\"";
    each(&[
        (
            &[
                "What are the first and last names of the residents from the Chemistry department?",
                "Which residents belong to the department of chemistry? Give me their first name and last name.",
            ],
            Some(both),
        ),
        (
            &["For each building, show its name and the number of rooms in it."],
            Some("SELECT \"bldg\".\"bldg_nm\" AS \"bldg_nm\", COUNT(*) AS \"number of rm\""),
        ),
        (
            &["How many repairs were there of each fault type? Return the fault type and the count."],
            Some(
                "COUNT(*) AS \"number of Maint Repair\" FROM \"Maint_Repair\" GROUP BY \"Maint_Repair\".\"Fault_Type\"",
            ),
        ),
        (
            &[
                "Which building has the most beds in total? Show the building name and the total number of beds.",
            ],
            Some("SUM(\"rm\".\"beds\") AS \"total beds\" FROM \"rm\" JOIN \"bldg\""),
        ),
    ]);
}

#[test]
fn several_extremes_and_ranges_before_their_field_are_understood() {
    each(&[
        (
            &["What are the lowest and the highest cost of the repairs?"],
            Some("MIN(\"Maint_Repair\".\"cost\") AS \"minimum cost\", MAX(\"Maint_Repair\".\"cost\")"),
        ),
        (
            &["Show the mean, lowest and highest rent of the rooms."],
            Some("AVG(\"rm\".\"rent_eur\") AS \"average rent eur\", MIN(\"rm\".\"rent_eur\")"),
        ),
        (&["Which rooms have between 2 and 4 beds?"], Some("\"rm\".\"beds\" BETWEEN 2 AND 4")),
        (&["Which rooms have more beds than the average room?"], Some("(SELECT AVG(\"rm\".\"beds\")")),
        (&["Find the rooms with 3 or more beds."], Some("WHERE \"rm\".\"beds\" >= 3")),
        (
            &["List the names of the buildings from the oldest to the newest."],
            Some("ORDER BY \"bldg\".\"yr_built\""),
        ),
        (&["How many residents were born before 2000?"], Some("WHERE \"resdt\".\"birth_yr\" < 2000")),
        // Of a year that is nobody's birth.
        (&["How many residents were there in 2000?"], None),
    ]);
}

#[test]
fn kinds_with_both_values_or_without_one_are_sets() {
    each(&[
        (
            &["Which departments have both bachelor and master residents?"],
            Some(
                "WHERE \"resdt\".\"dept\" IN (SELECT \"resdt\".\"dept\" FROM \"resdt\" WHERE \"resdt\".\"dept\" IS NOT NULL AND \"resdt\".\"degree\" = 'Bachelor') AND \"resdt\".\"dept\" IN (",
            ),
        ),
        (
            &["Which departments have master residents but no bachelor residents?"],
            Some("AND \"resdt\".\"dept\" NOT IN ("),
        ),
        (&["Which departments have no master residents?"], None),
    ]);
}

#[test]
fn what_is_first_is_the_same_whatever_is_asked_for() {
    each(&[
        (
            &["What is the most common fault type?"],
            Some("SELECT \"Maint_Repair\".\"Fault_Type\" AS \"Fault_Type\" FROM"),
        ),
        (&["Which fault type is the most common?"], Some("COUNT(*) AS \"number of Maint Repair\"")),
        (
            &["Find the fault type with the most repairs."],
            Some("ORDER BY COUNT(*) DESC, \"Maint_Repair\".\"Fault_Type\" DESC LIMIT 1"),
        ),
    ]);
}

/// Each must be refused, or read so.
#[test]
fn what_a_rule_could_misread_is_refused_or_read_as_it_is_said() {
    let mut schema = campus();
    let fields = &mut schema.tables[2].fields;
    fields[4].values = ["IT", "US", "History"].map(str::to_owned).into();
    let (known, today) = (Known::of(&schema), Day::read("2026-07-19").unwrap());
    let sql = |question: &str| {
        let answer = answer_of(question, &known, today).map_err(|unclear| format!("{unclear:?}"));
        answer.map(|answer| answer.sql.split_whitespace().collect::<Vec<&str>>().join(" "))
    };
    for (question, part) in [
        // A department that is called like a word.
        ("How many residents are in IT?", Some("\"dept\" = 'IT'")),
        // A state at the end is no tie.
        ("How many rooms are occupied?", None),
        // The kinds of what is counted are not counted.
        ("How many faults were there yesterday?", None),
        // A number before its things is how many are shown.
        ("Show 10 rents of the rooms.", Some("FROM \"rm\" LIMIT 10")),
        // An order by nothing that is a number.
        ("List the buildings from the largest building to the smallest.", None),
        ("Which rooms have the highest and the lowest rent?", None),
        ("Find the rooms with beds greater than 10 or less than 5.", Some("> 10 OR \"rm\".\"beds\" < 5")),
        ("Find the buildings whose name contains 'The 3 or more'.", Some("'the 3 or more'")),
        ("What is the total spending by History?", None),
    ] {
        match (sql(question), part) {
            (Ok(sql), Some(part)) => assert!(sql.contains(part), "{question}\n  {sql}"),
            (Err(_), None) => {}
            (found, _) => panic!("{question}: {found:?}"),
        }
    }
}

#[test]
fn names_that_repeat_themselves_end() {
    let mut schema = campus();
    for (field, name) in ["code_code", "color_code", "duran_duran"].into_iter().enumerate() {
        schema.tables[0].fields[field].name = name.to_owned();
    }
    let known = Known::of(&schema);
    for question in
        ["List the code and color code of the buildings.", "duran and duran duran and duran duran"]
    {
        _ = answer_of(question, &known, Day::read("2026-07-19").unwrap());
    }
}
