//! The expected values are DolphinScheduler's: those of its documentation and tests for 2022-08-26, and for
//! the other days those of the Java classes that it uses.

use lakeport_base::time;

use super::*;

const SHANGHAI: Tz = chrono_tz::Asia::Shanghai;
const BERLIN: Tz = chrono_tz::Europe::Berlin;
const NEW_YORK: Tz = chrono_tz::America::New_York;

fn shown(pattern: &str, at: &str, zone: Tz) -> Result<String, String> {
    let at_ms = time::parse(at, zone).expect("a time");
    Moment::parse(pattern)?.shown(at_ms, zone).ok_or_else(|| "beyond the years".to_owned())
}

fn check(at: &str, zone: Tz, cases: &[(&str, &str)]) {
    for (pattern, expected) in cases {
        assert_eq!(shown(pattern, at, zone).as_deref(), Ok(*expected), "{pattern} of {at}");
    }
}

#[test]
fn dolphinschedulers_own_examples_hold() {
    check(
        "2022-08-26 00:00:00",
        SHANGHAI,
        &[
            ("this_day(yyyy-MM-dd)", "2022-08-26"),
            ("last_day(yyyyMMdd)", "20220825"),
            ("year_week(yyyy-MM-dd)", "2022-34"),
            ("year_week(yyyyMMdd)", "202234"),
            ("year_week(yyyy-MM-dd,5)", "2022-35"),
            ("year_week(yyyyMMdd,5)", "202235"),
            ("month_first_day(yyyy-MM-dd,-1)", "2022-07-01"),
            ("month_last_day(yyyyMMdd,-1)", "20220731"),
            ("week_first_day(yyyy-MM-dd,-1)", "2022-08-15"),
            ("week_first_day(yyyy-MM-dd,0)", "2022-08-22"),
            ("week_last_day(yyyy-MM-dd,-1)", "2022-08-21"),
            ("week_last_day(yyyyMMdd,0)", "20220828"),
            ("yyyy", "2022"),
            ("yyyy:***", "2022:***"),
            ("yyyy-MM-dd-1", "2022-08-25"),
            ("month_begin(yyyyMMdd, 1)", "20220802"),
            ("month_begin(yyyyMMdd,3)", "20220804"),
            ("month_end(yyyyMMdd, -1)", "20220830"),
            ("week_begin(yyyyMMdd, 1)", "20220823"),
            ("week_end(yyyyMMdd, -1)", "20220827"),
            ("week_end(yyyyMMdd,-2)", "20220826"),
            ("timestamp(yyyyMMddHHmmss)", "1661443200"),
            ("timestamp(yyyyMMddHHmmss-1)", "1661356800"),
            ("timestamp(week_begin(yyyyMMddHHmmss, 1))", "1661184000"),
        ],
    );
}

#[test]
fn formats_have_javas_letters() {
    check(
        "2025-12-31 01:02:03",
        BERLIN,
        &[
            ("yy/M/d H:m:s", "25/12/31 1:2:3"),
            ("yyyy-MM-dd'T'HH:mm:ss'Z'", "2025-12-31T01:02:03Z"),
            ("yyyy''MM", "2025'12"),
            ("yyyy'it''s'", "2025it's"),
            ("yyyy年MM月dd日", "2025年12月31日"),
            ("yyyyMM01", "20251201"),
            ("yyyy-MM-dd 00:00:00", "2025-12-31 00:00:00"),
            ("add_months(yyyy-MM-01,-1)", "2025-11-01"),
            ("HHmmss", "010203"),
            ("yyyy(MM)", "2025(12)"),
            ("yyyy,MM", "2025,12"),
        ],
    );
}

#[test]
fn offsets_are_days_and_parts_of_days() {
    check(
        "2024-02-29 23:59:59",
        SHANGHAI,
        &[
            ("yyyyMMdd+1", "20240301"),
            ("yyyy-MM-dd+7*1", "2024-03-07"),
            ("yyyyMMdd-7*2", "20240215"),
            ("yyyyMMddHHmmss+1/24", "20240301005959"),
            ("HHmmss-90/24/60", "222959"),
            ("yyyyMMdd HH:mm+1-1/24", "20240301 22:59"),
            ("yyyyMMddHH-1+1/24", "2024022900"),
            ("yyyyMMdd+2*(3-1)", "20240304"),
            ("yyyyMMdd+(1+1)/2", "20240301"),
            ("yyyyMMdd-(-1)", "20240301"),
            ("MM-01", "02"),
            ("HHmmss+3600/24/60/60", "005959"),
        ],
    );
    for wrong in
        ["HHmmss+30/24/60/60", "yyyyMMdd+1/7", "yyyyMMdd+1/0", "yyyyMMdd+(1", "yyyyMMdd+1)", "yyyyMMdd+1++"]
    {
        assert!(shown(wrong, "2024-02-29 23:59:59", SHANGHAI).is_err(), "{wrong}");
    }
}

#[test]
fn months_have_their_own_lengths() {
    for (at, zone, cases) in [
        ("2024-02-29 23:59:59", SHANGHAI, ["20230228", "20240129", "20240329", "20240829", "20250228"]),
        ("2025-12-31 01:02:03", BERLIN, ["20241231", "20251130", "20260131", "20260630", "20261231"]),
        ("2023-01-31 09:08:07", NEW_YORK, ["20220131", "20221231", "20230228", "20230731", "20240131"]),
        ("2026-03-29 12:30:00", BERLIN, ["20250329", "20260228", "20260429", "20260929", "20270329"]),
    ] {
        for (n, expected) in ["-12*1", "-1", "1", "+6", "12*1"].iter().zip(cases) {
            check(at, zone, &[(&format!("add_months(yyyyMMdd,{n})"), expected)]);
        }
    }
    check(
        "2024-02-29 23:59:59",
        SHANGHAI,
        &[
            ("month_first_day(yyyyMMdd)", "20240201"),
            ("month_first_day(yyyyMMdd,1)", "20240301"),
            ("month_last_day(yyyyMMdd)", "20240229"),
            ("month_last_day(yyyyMMdd,-1)", "20240131"),
            ("month_last_day(yyyyMMddHHmmss,1)", "20240331235959"),
            ("month_begin(yyyyMMdd,-1)", "20240131"),
            ("month_end(yyyyMMdd,1)", "20240301"),
            ("week_first_day(yyyyMMdd)", "20240226"),
            ("week_last_day(yyyyMMdd,1)", "20240310"),
            ("week_begin(yyyyMMdd,-1)", "20240225"),
            ("week_end(yyyyMMdd,0)", "20240303"),
            ("last_month_first_day(yyyyMMdd)", "20240101"),
            ("last_month_last_day(yyyyMMdd)", "20240131"),
            ("last_week_first_day(yyyyMMdd)", "20240219"),
            ("last_week_last_day(yyyyMMdd)", "20240225"),
        ],
    );
}

#[test]
fn a_week_belongs_to_the_year_with_most_of_it() {
    for (day, weeks) in [
        ("2020-12-31", ["2020-53", "2020-01", "2020-01", "2020-01", "2020-52", "2020-52", "2020-53"]),
        ("2021-01-01", ["2021-53", "2021-01", "2021-01", "2021-01", "2021-01", "2021-52", "2021-53"]),
        ("2024-12-29", ["2024-52", "2024-52", "2024-52", "2024-52", "2024-53", "2024-53", "2024-01"]),
        ("2024-12-31", ["2024-01", "2024-01", "2024-52", "2024-52", "2024-53", "2024-53", "2024-01"]),
        ("2025-01-01", ["2025-01", "2025-01", "2025-01", "2025-52", "2025-53", "2025-53", "2025-01"]),
        ("2027-01-03", ["2027-53", "2027-01", "2027-01", "2027-01", "2027-01", "2027-01", "2027-01"]),
        ("2016-02-29", ["2016-09", "2016-09", "2016-09", "2016-09", "2016-09", "2016-09", "2016-09"]),
    ] {
        for (first_day, expected) in (1..).zip(weeks) {
            let pattern = format!("year_week(yyyy-MM-dd,{first_day})");
            check(&format!("{day} 04:00:00"), SHANGHAI, &[(&pattern, expected)]);
        }
    }
}

#[test]
fn clocks_that_change_move_hours_and_no_days() {
    check(
        "2026-03-29 12:30:00",
        BERLIN,
        &[
            ("yyyyMMddHHmm-13/24", "202603282230"),
            ("yyyyMMddHHmm-10/24", "202603290130"),
            ("yyyyMMddHHmm-90/24/60", "202603291100"),
            ("yyyyMMddHHmm+1", "202603301230"),
            ("yyyyMMddHHmm-1", "202603281230"),
            ("timestamp(yyyyMMddHHmmss)", "1774780200"),
            ("timestamp(yyyyMMdd000000)", "1774738800"),
            ("timestamp(yyyyMMdd023000)", "1774747800"),
            ("timestamp(month_first_day(yyyyMMddHHmmss))", "1772364600"),
        ],
    );
    check(
        "2026-10-25 12:30:00",
        BERLIN,
        &[
            ("yyyyMMddHHmm-13/24", "202610250030"),
            ("yyyyMMddHHmm-10/24", "202610250230"),
            ("yyyyMMddHHmm-11/24", "202610250230"),
            ("timestamp(yyyyMMdd023000)", "1792888200"),
        ],
    );
    // Midnight and the first minutes after a short day: the day before is the day before.
    check("2026-03-30 00:30:00", BERLIN, &[("yyyyMMdd-1", "20260329"), ("last_day(yyyyMMdd)", "20260329")]);
}

#[test]
fn what_is_not_understood_is_refused() {
    for (wrong, why) in [
        ("foo", "`f` is not one of"),
        ("YYYY-MM-dd", "`YYYY` is not one of"),
        ("yyyyMMddhhmmss", "`hh` is not one of"),
        ("MMM", "`MMM` is not one of"),
        ("yyyyMMddE", "`E` is not one of"),
        ("yyyy#", "must not have"),
        ("yyyy'", "is not closed"),
        ("'2020'", "has none of"),
        ("yyyy-MM-01 00:00:00", "stands at the end"),
        ("yyyyMMdd - 1", "stands at the end"),
        ("this_day(yyyyMMdd-1)", "no offset"),
        ("this_day(yyyyMMdd,1)", "a format alone"),
        ("month_begin(yyyyMMdd)", "a format and a number"),
        ("add_months(yyyyMM,1.5)", "no whole number"),
        ("add_months(yyyyMM,7/2)", "no whole number"),
        ("add_months(yyyyMM,1,2)", "no whole number"),
        ("add_months(yyyyMM,12001)", "too large"),
        ("yyyyMMdd-100001", "too large"),
        ("yyyyMMdd-2147483648", "no number of days"),
        ("week_last_day(yyyy-MM-dd,0) - 1", "must end with"),
        ("month_first_week_day(yyyyMMdd)", "there is no function"),
        ("year_week(yyyyMMdd,8)", "from 1, Monday, to 7"),
        ("year_week(yyyyMMdd,0)", "from 1, Monday, to 7"),
        ("timestamp(yyyyMMdd)", "yyyyMMddHHmmss"),
        ("timestamp(yyyyMM31000000)", "yyyyMMddHHmmss"),
        ("timestamp(yyyy02dd000000)", "yyyyMMddHHmmss"),
        ("timestamp(year_week(yyyyMMdd))", "yyyyMMddHHmmss"),
        ("timestamp(timestamp(yyyyMMddHHmmss))", "yyyyMMddHHmmss"),
    ] {
        let found = shown(wrong, "2026-03-01 04:05:06", SHANGHAI).expect_err(wrong);
        assert!(found.contains(why), "{wrong}: {found}");
    }
    assert!(shown("add_months(yyyy,12000)", "9000-01-01 00:00:00", SHANGHAI).is_err());
    assert!(shown("yyyyMMdd", "0999-12-31 00:00:00", SHANGHAI).is_err());
}

#[test]
fn dolphinscheduler_reads_its_own_words_the_same() {
    for (pattern, expected) in [
        ("yyyyMMdd", Some("yyyyMMdd")),
        ("yyyy-MM-dd", Some("yyyy-MM-dd")),
        ("yyyyMMdd-7*2", Some("yyyyMMdd-14")),
        ("yyyyMMddHH+1-1/24", Some("yyyyMMddHH+23/24")),
        ("yyyyMMddHH-1/24/60", Some("yyyyMMddHH-1/24/60")),
        ("yyyy+MM", Some("yyyy+MM")),
        ("yyyy+MM-1", None),
        ("this_day(yyyyMM)", Some("yyyyMM")),
        ("last_day(yyyyMMdd)", Some("yyyyMMdd-1")),
        ("add_months(yyyyMM,-1+2)", Some("add_months(yyyyMM,1)")),
        ("month_last_day(yyyyMMdd)", Some("month_last_day(yyyyMMdd,0)")),
        ("month_end(yyyyMMdd,2)", Some("month_end(yyyyMMdd,2)")),
        ("week_first_day(yyyyMMdd,-1)", Some("week_begin(yyyyMMdd,-7)")),
        ("last_month_first_day(yyyyMMdd)", Some("month_first_day(yyyyMMdd,-1)")),
        ("last_week_last_day(yyyyMMdd)", Some("week_end(yyyyMMdd,-7)")),
        ("year_week(yyyy-MM-dd)", Some("year_week(yyyy-MM-dd,1)")),
        (
            "timestamp(last_month_first_day(yyyyMMdd000000))",
            Some("timestamp(month_first_day(yyyyMMdd000000,-1))"),
        ),
        ("foo", None),
    ] {
        let found = in_dolphinscheduler(pattern);
        assert_eq!(found.as_deref(), expected, "{pattern}");
        let Some(found) = found else { continue };
        let at = "2024-02-29 23:59:59";
        assert_eq!(shown(&found, at, SHANGHAI), shown(pattern, at, SHANGHAI), "{pattern}");
    }
}

#[test]
fn a_number_is_one_on_every_day() {
    for (pattern, expected) in [
        ("yyyyMMdd", true),
        ("yyyyMMddHHmmss", true),
        ("yyyy", true),
        ("M", true),
        ("d", true),
        ("H", true),
        ("MM", false),
        ("HHmm", false),
        ("Hmm", false),
        ("Mdd", true),
        ("yy", false),
        ("yyyy-MM-dd", false),
        ("yyyyMM01", true),
        ("add_months(yyyyMM,-1)", true),
        ("year_week(yyyyMMdd)", true),
        ("year_week(yyyy-MM-dd)", false),
        ("timestamp(yyyyMMddHHmmss)", true),
        ("yyyyMMddHHmmss0000", true),
        ("yyyyMMddHHmmss00000", false),
    ] {
        assert_eq!(Moment::parse(pattern).unwrap().shape().is_number(), expected, "{pattern}");
    }
}
