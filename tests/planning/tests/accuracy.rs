//! The rules' answers to questions in a manager's words: how many there are, and how many of them are right.

use lakeport_planning::{
    ASKED_ON, Set, Tried, Verdict, asked, company, of_folder, own_schemas, platform, schema_of, tried,
};
use tool_write_sql::answer::{answer_of_query, is_chinese};
use tool_write_sql::calendar::Day;
use tool_write_sql::known::Known;

/// Shares in percent that the rules must reach.
const ANSWERED_MIN: usize = 85;
const RIGHT_MIN: usize = 99;
/// The same of questions about schemas that the rules' authors had not seen. No further column is right.
const OWN_ANSWERED_MIN: usize = 54;
const OWN_RIGHT_MIN: usize = 94;

async fn holds(set: Set) {
    let all: Vec<Tried> = set.tried().await.unwrap();
    let of = |verdict: Verdict| all.iter().filter(move |one| one.verdict == verdict);
    let (refused, right) =
        (of(Verdict::Refused).count(), of(Verdict::Right).count() + of(Verdict::Wider).count());
    let answered = all.len() - refused;
    for one in of(Verdict::Refused).chain(of(Verdict::Wrong)) {
        println!("{:?}: {}\n  {}", one.verdict, one.question.text, one.said.replace('\n', " "));
    }
    println!("{} questions, {answered} answered, {right} of them right", all.len());
    assert!(answered * 100 >= all.len() * ANSWERED_MIN, "{answered} of {} are answered", all.len());
    assert!(right * 100 >= answered * RIGHT_MIN, "{right} of {answered} answers are right");
}

#[tokio::test]
async fn a_manager_gets_right_answers_about_the_company() {
    holds(company().await.unwrap()).await;
}

#[tokio::test]
async fn a_manager_gets_right_answers_about_the_platform() {
    holds(platform().await.unwrap()).await;
}

/// Thirty schemas without comments, each with forty questions by people who did not know the rules. Two fillings each. A plan that
/// is read again is the same statement.
#[tokio::test]
async fn questions_about_thirty_schemas_get_right_answers() {
    const FILLINGS: u64 = 2;
    let today = Day::read(ASKED_ON).unwrap();
    let (shapes, questions) = of_folder(&own_schemas()).unwrap();
    let (mut answered, mut right) = (0, 0);
    for (name, shape) in &shapes {
        let mut filled = Vec::new();
        for filling in 0..FILLINGS {
            filled.push(shape.filled(&questions, filling).await.unwrap());
        }
        let schema = schema_of(name, &mut filled[0], |_, _| String::new()).await.unwrap();
        let known = Known::of(&schema);
        for question in questions.iter().filter(|question| question.database == *name) {
            if let Ok(answer) = asked(question, &known, today) {
                let again = answer_of_query(&answer.query, &known, today, false);
                let again = again.unwrap_or_else(|wrong| panic!("{}: {wrong}", question.text));
                assert_eq!(again.sql, answer.sql, "{}", question.text);
            }
            let one = tried(question, &known, today, &mut filled).await.unwrap();
            answered += usize::from(one.verdict != Verdict::Refused);
            right += usize::from(one.verdict == Verdict::Right);
            if matches!(one.verdict, Verdict::Wrong | Verdict::Wider) {
                println!("{:?}: {}\n  {}", one.verdict, question.text, one.said.replace('\n', " "));
            }
        }
    }
    println!("{} questions, {answered} answered, {right} of them right", questions.len());
    assert!(answered * 100 >= questions.len() * OWN_ANSWERED_MIN, "{answered} of {}", questions.len());
    assert!(right * 100 >= answered * OWN_RIGHT_MIN, "{right} of {answered} answers are right");
}

/// The plan of an answer is data: read again, it is the same statement.
#[tokio::test]
async fn a_plan_is_read_as_it_was_told() {
    let today = Day::read(ASKED_ON).unwrap();
    for set in [company().await.unwrap(), platform().await.unwrap()] {
        let known = Known::of(&set.schema);
        let mut read = 0;
        for question in &set.questions {
            let Ok(answer) = asked(question, &known, today) else { continue };
            let again = answer_of_query(&answer.query, &known, today, false)
                .unwrap_or_else(|wrong| panic!("{}: {wrong}\n{}", question.text, answer.query));
            let plain = |sql: &str| sql.split_whitespace().collect::<Vec<&str>>().join(" ");
            // Labels of units follow the language.
            if !is_chinese(&question.text) {
                assert_eq!(plain(&again.sql), plain(&answer.sql), "{}", question.text);
            }
            assert_eq!(again.query, answer.query, "{}", question.text);
            read += 1;
        }
        assert!(read * 2 > set.questions.len());
    }
}
