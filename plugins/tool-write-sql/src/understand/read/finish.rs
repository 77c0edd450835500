//! The end of a question: what still waits is completed, or the question is refused.

use super::{Piece, Reader, Waiting, Whole};
use crate::calendar::Unit;
use crate::plan::ACTORS;
use crate::schema::Kind;
use crate::schema::Place;
use crate::sums;
use crate::understand::link::Chunk;
use crate::understand::meaning::{Against, By, Filter, Group, Meaning, Measure, Test, Unclear};
use crate::understand::names::Named;
use crate::words::concept;
use crate::words::english::name_words;
use crate::words::phrases::{Compare, Func, Op};

impl Reader<'_> {
    /// `What did customer 5 buy?` names nothing that was bought.
    fn asks_for_something(&self) -> Result<(), Unclear> {
        let text = |at: usize| self.pieces.get(at).map(|piece| piece.text.to_lowercase()).unwrap_or_default();
        let does = |word: &str| matches!(word, "did" | "do" | "does");
        let asks_what = text(0) == "what" && does(&text(1));
        let meaning = &self.meaning;
        let lists = meaning.measures.is_empty() && meaning.rank.is_none() && meaning.items.is_empty();
        match self.pieces.iter().rev().find(|piece| piece.chunk != Chunk::Mark) {
            Some(last) if asks_what && lists => Err(Unclear::Word(last.text.clone())),
            _ => Ok(()),
        }
    }

    pub(super) fn finish(mut self) -> Result<Meaning, Unclear> {
        self.asks_for_something()?;
        if self.repeats_a_number_of_others() {
            return Err(Unclear::Shape);
        }
        // `in ascending order of count`
        if let [Waiting::Order(_), Waiting::Count] = self.waiting[..] {
            self.waiting.pop();
            self.frequency()?;
        }
        // `Give the city and the count.`
        let is_measured = !self.meaning.measures.is_empty();
        let last = self.pieces.iter().rev().find(|piece| piece.chunk != Chunk::Mark);
        let is_said_again = match (&self.waiting[..], last.map(|piece| &piece.chunk)) {
            ([Waiting::Count], Some(Chunk::Op(Op::Count))) => is_measured,
            ([Waiting::Make(funcs)], Some(Chunk::Op(Op::Make(func)))) => {
                let is_made = |measure: &Measure| matches!(measure, Measure::Made(made, _) if made == func);
                // `Which customers spent the most, and how much?`
                let is_ranked = matches!(self.meaning.rank, Some((By::Field(place), _))
                    if sums::adds_up(self.schema.field(place)));
                let is_known = (is_measured || is_ranked) && *func == Func::Sum
                    || self.meaning.measures.iter().any(is_made);
                *funcs == [*func] && is_known
            }
            _ => false,
        };
        // `sorted from the youngest to the oldest`
        let order =
            self.pieces.iter().position(|piece| matches!(piece.chunk, Chunk::Op(Op::Order | Op::Sort)));
        let names_key =
            |from: usize| self.pieces[from..].iter().any(|piece| matches!(piece.chunk, Chunk::Named(_)));
        let is_sorted = matches!(self.waiting[..], [Waiting::Order(_)])
            && self.ascending.is_some()
            && !order.is_some_and(names_key);
        if is_said_again || is_sorted {
            self.waiting.clear();
        }
        // `how many orders each of them has`
        if self.waiting == [Waiting::Each] && is_measured && !self.meaning.items.is_empty() {
            self.waiting.clear();
        }
        let mut shown = Vec::new();
        self.meaning.items.retain(|item| {
            let is_new = !shown.contains(item);
            shown.push(*item);
            is_new
        });
        if let Some(Waiting::Make(funcs)) = self.take_last(|waiting| matches!(waiting, Waiting::Make(_))) {
            match (&funcs[..], self.meaning.tables.first(), self.meaning.measures.is_empty()) {
                // `total orders` counts; every other function needs a field.
                ([Func::Sum], Some(table), true) => self.meaning.measures.push(Measure::Count(*table)),
                // `orders per day on average`
                ([Func::Average], ..) if self.meaning.unit.is_some() && self.says_on_average() => {
                    self.meaning.averages_groups = true;
                }
                _ => return Err(Unclear::Shape),
            }
        }
        if let Some(whole) = self.share.take() {
            self.share_of(whole)?;
        }
        if self.ratio {
            self.ratio_of_values()?;
        }
        self.compared_days()?;
        self.growth_of_each_unit();
        // `每月累计销售额`
        if self.meaning.unit.is_some() && self.pieces.iter().any(|piece| piece.text == "累计") {
            self.meaning.cumulative = true;
        }
        // `our best customers`
        if self.waiting == [Waiting::Top] {
            self.waiting.clear();
            self.meaning.top = true;
        }
        if self.waiting == [Waiting::People] {
            self.waiting.clear();
            let table = self.meaning.groups.first().map(|group| group.table());
            let is_person = |table: &usize| self.is_person(*table);
            let table = table.or(self.meaning.tables.iter().copied().rfind(is_person));
            let table = table.or(self.meaning.filters.first().map(|filter| filter.place.table));
            self.measure(Measure::Count(table.ok_or(Unclear::Shape)?))?;
        }
        if let ([Waiting::Times], [verb]) = (&self.waiting[..], &self.meaning.verbs[..]) {
            let events = Measure::Count(verb.table);
            self.waiting.clear();
            self.measure(events)?;
        }
        // `Which workflow fails most often?` By the rows with the value.
        if let (
            [Waiting::Most(most)],
            [.., Filter { place, test: Test::Among(_, true) }],
            [],
            [asked, others @ ..],
        ) = (
            &self.waiting[..],
            &self.meaning.filters[..],
            &self.meaning.measures[..],
            &self.meaning.tables[..],
        ) && place.table != *asked
            && others.iter().all(|other| *other == place.table)
        {
            let (events, most) = (Measure::Count(place.table), *most);
            self.waiting.clear();
            self.rank(By::Measure(events), most)?;
        }
        if let [Waiting::Extreme(greatest)] = self.waiting[..] {
            self.waiting.pop();
            let place = self.size_of_entity()?;
            self.rank(By::Field(place), greatest)?;
        }
        // `Where do gold customers live?` asks for a place that nothing names, `What do they buy most often?` for a thing.
        let first = self.pieces.first().map(|piece| piece.text.to_lowercase()).unwrap_or_default();
        let asks_what = first == "what" && self.meaning.rank.is_some();
        if (first == "where" || asks_what)
            && self.meaning.items.is_empty()
            && self.meaning.groups.is_empty()
            && self.meaning.unit.is_none()
            && self.meaning.cycle.is_none()
        {
            return Err(Unclear::Shape);
        }
        // `消费最多的客户是什么时候注册的`
        let asks = |piece: &Piece| ASKING_LAST.contains(&piece.text.as_str());
        if self.meaning.rank.is_some()
            && !self.meaning.verbs.is_empty()
            && self.meaning.range.is_none()
            && self.meaning.unit.is_none()
            && self.pieces.iter().skip(1).any(asks)
        {
            return Err(Unclear::Shape);
        }
        // `Who makes the most money?` asks for something that nothing names.
        let asks_who = self.pieces.first().is_some_and(|piece| piece.text.eq_ignore_ascii_case("who"));
        if asks_who
            && self.meaning.items.is_empty()
            && self.meaning.groups.is_empty()
            && let Some(place) = self.actor_of_verb()
        {
            self.meaning.verbs.clear();
            self.meaning.groups.push(Group::Field(place));
        }
        // `Who bought tea last week?`
        if asks_who
            && self.meaning.tables.is_empty()
            && self.meaning.items.is_empty()
            && let Some(table) = self.those_who()
        {
            self.meaning.tables.push(table);
        }
        if asks_who && self.meaning.tables.is_empty() && self.meaning.items.is_empty() {
            return Err(Unclear::Shape);
        }
        if let Some(ascending) =
            self.ascending.filter(|_| self.meaning.order.is_none() && self.meaning.rank.is_none())
        {
            let title = self.meaning.tables.first().and_then(|table| self.schema.title(*table));
            // `each city and its number of shops, from most to fewest`
            if let ([measure], true) = (&self.meaning.measures[..], self.says_order(&SIZES)) {
                self.meaning.order = Some((By::Measure(*measure), !ascending));
            } else if let Some((place, greatest)) = self.age_by_size(ascending) {
                self.meaning.order = Some((By::Field(place), greatest));
            }
            if self.meaning.order.is_none() {
                let shown =
                    self.meaning.items.first().copied().or(title).filter(|_| !self.says_order(&["from"]));
                let place = self.number_by_size().or(shown).ok_or(Unclear::Shape)?;
                self.meaning.order = Some((By::Field(place), !ascending));
            }
        }
        if !self.waiting.is_empty() || self.not || self.or || self.new || self.number.is_some() {
            return Err(Unclear::Shape);
        }
        let is_bare = |piece: &Piece| {
            matches!(&piece.chunk, Chunk::Named(_) | Chunk::Range(_) | Chunk::Mark)
                || matches!(
                    &piece.chunk,
                    Chunk::Op(
                        Op::Of
                            | Op::ComparedWith
                            | Op::Earlier(_)
                            | Op::Over(_)
                            | Op::Growth
                            | Op::On(_)
                            | Op::Chart(_)
                    )
                )
                || piece.text.eq_ignore_ascii_case("in")
                || piece.text.eq_ignore_ascii_case("from")
        };
        self.meaning.bare = self.pieces.iter().all(is_bare);
        // `cities without gold customers`: of groups, and not of rows.
        let is_kind = |item: &Place| {
            self.schema.field(*item).kind() == Kind::Text
                && self.schema.title(item.table) != Some(*item)
                && self.schema.key(item.table) != Some(*item)
        };
        let items = &self.meaning.items;
        // `cities with app, but no web orders` are those of which there are rows.
        let is_among =
            |filter: &Filter, wanted: bool| matches!(&filter.test, Test::Among(_, among) if *among == wanted);
        let filters = &self.meaning.filters;
        let is_of_sorts = |filter: &Filter| {
            filters.iter().any(|other| other.place == filter.place && is_among(other, true))
        };
        let has_sorts = filters.iter().any(|filter| is_among(filter, false) && is_of_sorts(filter));
        if !items.is_empty() && items.iter().all(is_kind) && self.lacks_a_value() && !has_sorts {
            return Err(Unclear::Shape);
        }
        if contradicts(&self.meaning.filters) {
            return Err(Unclear::Shape);
        }
        self.meaning.asks_kinds = self.asks_for_kinds();
        self.meaning.one = self.single || !self.several;
        self.meaning.says_what = self.says_what();
        Ok(self.meaning)
    }
}

impl Reader<'_> {
    /// `商品有哪些类别`, and not `哪些类别的商品`.
    fn asks_for_kinds(&self) -> bool {
        let [item] = self.meaning.items[..] else { return false };
        let names_it = |piece: &Piece| {
            matches!(&piece.chunk, Chunk::Named(named)
                if named.iter().any(|named| matches!(named, Named::Field(place, _) if *place == item)))
        };
        let which = self
            .pieces
            .windows(2)
            .position(|pair| matches!(pair[0].chunk, Chunk::Op(Op::Which)) && names_it(&pair[1]));
        // `What categories do products have?`
        let asks_what = matches!(self.pieces, [what, kind, does, ..]
            if ["what", "which"].iter().any(|word| what.text.eq_ignore_ascii_case(word))
                && names_it(kind)
                && ["do", "does"].iter().any(|word| does.text.eq_ignore_ascii_case(word)));
        let is_owner =
            |at: usize| matches!(self.pieces.get(at + 2).map(|piece| &piece.chunk), Some(Chunk::Op(Op::Of)));
        asks_what || self.is_chinese_here() && which.is_some_and(|at| !is_owner(at))
    }

    /// `percentage of orders on weekends`: of all days, those on these weekdays.
    fn share_of_weekdays(&mut self, amount: Option<Place>) -> Result<(), Unclear> {
        let measure = match (amount, &self.meaning.tables[..]) {
            (Some(place), _) => Measure::Part(place),
            (None, [table]) => Measure::Share(self.schema.places(*table).next().ok_or(Unclear::Shape)?),
            _ => return Err(Unclear::Shape),
        };
        let only = self.meaning.measures.iter().all(|known| known.table() == measure.table());
        if !only || !self.meaning.groups.is_empty() {
            return Err(Unclear::Shape);
        }
        self.meaning.items.clear();
        self.meaning.measures = vec![measure];
        self.meaning.shares_weekdays = true;
        Ok(())
    }

    /// Whether a phrase for a direction has one of these words: `from the oldest to the youngest`.
    fn says_order(&self, words: &[&str]) -> bool {
        self.pieces.iter().any(|piece| {
            matches!(piece.chunk, Chunk::Op(Op::Ascending | Op::Descending))
                && piece.text.to_lowercase().split(' ').any(|word| words.contains(&word))
        })
    }

    /// What `from the oldest to the youngest` or `to the newest` orders by, and whether the greatest comes first: an age, or
    /// the year of birth.
    fn age_by_size(&self, ascending: bool) -> Option<(Place, bool)> {
        let (is_young, is_new) = (self.says_order(&["young", "youngest"]), self.says_order(&["newest"]));
        let shows_days = self.meaning.items.iter().any(|item| self.schema.field(*item).kind() == Kind::Date);
        if !is_young && (!is_new || shows_days) {
            return None;
        }
        // `from oldest to newest` goes up in time, and `from oldest to youngest` down in age.
        let oldest_first = ascending == is_new;
        match self.field_called(&["age"]) {
            Ok(age) => Some((age, oldest_first)),
            Err(_) => Some((self.year_of_beginning(&["age"])?, !oldest_first)),
        }
    }

    /// `names and altitudes from the highest to the lowest`: by the only number that is shown; from the newest to the oldest:
    /// by the only day.
    fn number_by_size(&self) -> Option<Place> {
        let kind = |item: &Place| self.schema.field(*item).kind();
        let only = |fits: &dyn Fn(Kind) -> bool| {
            let mut found = self.meaning.items.iter().copied().filter(|item| fits(kind(item)));
            found.next().filter(|_| found.next().is_none())
        };
        if self.says_order(&["newest"]) {
            let shown = only(&|kind| kind == Kind::Date);
            return shown.or_else(|| self.only_year()).or_else(|| self.field_called(&[]).ok());
        }
        only(&|kind| matches!(kind, Kind::Number | Kind::NumberText)).filter(|_| self.says_order(&SIZES))
    }

    /// `number of orders and number of cancelled orders`: two numbers, of different rows.
    fn repeats_a_number_of_others(&self) -> bool {
        let has_conditions = !self.meaning.filters.is_empty() || self.meaning.range.is_some();
        let joins = self.pieces.iter().any(|piece| matches!(piece.chunk, Chunk::Op(Op::And)));
        self.repeated.is_some() && joins && has_conditions && self.meaning.rank.is_none()
    }

    /// `What is the year that had the most concerts?`, and not `Which year …`.
    fn says_what(&self) -> bool {
        let first = self.pieces.iter().position(|piece| matches!(piece.chunk, Chunk::Named(_)));
        // `What is the most common color?`
        let is_common = self.pieces.iter().any(|piece| matches!(piece.chunk, Chunk::Op(Op::Common(_))));
        let text = |at: usize| self.pieces.get(at).map(|piece| piece.text.to_lowercase());
        let (Some(begins), Some(after)) = (text(0), first.and_then(|at| text(at + 1))) else { return false };
        let word = after.split(' ').next().unwrap_or_default();
        // `Find the town with the most shops.`
        let counts = word == "with" && matches!(self.meaning.rank, Some((By::Measure(Measure::Count(_)), _)));
        TELLS.contains(&begins.as_str()) && (is_common || counts || THAT.contains(&word))
    }

    /// Whether `on average` follows what it is said of.
    fn says_on_average(&self) -> bool {
        let is_named =
            |piece: &&Piece| !matches!(piece.chunk, Chunk::Mark | Chunk::Range(_) | Chunk::Op(Op::Filler));
        let said = self.pieces.iter().rev().find(is_named);
        said.is_some_and(|piece| piece.text.eq_ignore_ascii_case("on average"))
    }

    /// Whether `no` or `without` stands before a value.
    fn lacks_a_value(&self) -> bool {
        let lacks = |piece: &Piece| {
            matches!(piece.chunk, Chunk::Op(Op::Not)) && LACKING.contains(&piece.text.to_lowercase().as_str())
        };
        self.pieces.windows(2).any(|pair| lacks(&pair[0]) && pair[1].chunk.may_be_value())
    }

    fn is_person(&self, table: usize) -> bool {
        let words = name_words(&self.schema.table(table).name);
        words.last().is_some_and(|last| ACTORS.contains(&concept(last).as_str()))
    }

    /// The people to whom what the verb says refers.
    fn those_who(&self) -> Option<usize> {
        let events = self.meaning.verbs.iter().flat_map(|verb| self.schema.places(verb.table));
        let parents = events.filter_map(|place| self.links.parent_of(place));
        let mut people: Vec<usize> = parents.filter(|table| self.is_person(*table)).collect();
        people.dedup();
        match people[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// `Who submitted the most publications?` The field `submitted_by` of what is counted.
    fn actor_of_verb(&self) -> Option<Place> {
        let counted = match (self.meaning.rank, &self.meaning.measures[..]) {
            (Some((By::Measure(Measure::Count(table)), _)), _) => table,
            (None, [Measure::Count(table)]) => *table,
            _ => return None,
        };
        let said: Vec<String> = self.pieces.iter().map(|piece| concept(&piece.text.to_lowercase())).collect();
        let mut fields = self.schema.places(counted).filter(|place| {
            let words = name_words(&self.schema.field(*place).name);
            matches!(&words[..], [verb, by] if by == "by" && said.contains(&concept(verb)))
        });
        fields.next().filter(|_| fields.next().is_none())
    }

    /// `share of`: of a number in each group, of a number's sum, or of rows.
    fn share_of(&mut self, whole: Whole) -> Result<(), Unclear> {
        let amount = match (&self.meaning.measures[..], &self.meaning.items[..]) {
            ([], [place]) if self.schema.field(*place).is_number() => Some(*place),
            ([Measure::Made(Func::Sum, place)], []) => Some(*place),
            _ => None,
        };
        let values = self.meaning.filters.iter().filter(|filter| is_value(filter)).count();
        let grouped = !self.meaning.groups.is_empty();
        if self.meaning.weekdays.is_empty() && self.is_share_of_days() || self.share_follows_a_value() {
            return Err(Unclear::Shape);
        }
        if !self.meaning.weekdays.is_empty() && (self.meaning.filters.is_empty() || self.is_share_of_days()) {
            return self.share_of_weekdays(amount);
        }
        if values == 0 && !grouped && amount.is_none() && !self.meaning.filters.is_empty() {
            return self.share_of_compared();
        }
        // `as a share of the total`
        let is_alone = amount.is_none() && values == 0 && self.meaning.tables.is_empty() && !grouped;
        if whole == Whole::Numbers && is_alone {
            self.meaning.of_total = true;
            return Ok(());
        }
        // `每个城市中gold会员的销售额占比`: of the city's, or of all.
        let compares = self
            .meaning
            .filters
            .iter()
            .any(|filter| matches!(filter.test, Test::Number(..) | Test::Between(..)));
        if whole == Whole::Numbers && grouped && (values > 0 || compares) {
            return Err(Unclear::Shape);
        }
        // `the share of app orders over 1000`: of the large ones, or of all.
        if values > 0 && compares {
            return Err(Unclear::Shape);
        }
        if whole == Whole::Numbers && grouped {
            self.meaning.of_total = true;
            if let Some(place) = amount {
                self.meaning.items.clear();
                self.meaning.measures = vec![Measure::Made(Func::Sum, place)];
            } else if self.meaning.measures.is_empty() {
                let table = self.meaning.tables.first().ok_or(Unclear::Shape)?;
                self.meaning.measures.push(Measure::Count(*table));
            }
            return Ok(());
        }
        let at = self.value_of_share(values)?;
        let filter = self.meaning.filters.remove(at);
        match amount.filter(|_| !grouped) {
            Some(place) => {
                self.meaning.share = Some(filter);
                self.meaning.items.clear();
                self.meaning.measures = vec![Measure::Part(place)];
                Ok(())
            }
            None => {
                self.meaning.filters.push(filter);
                self.rate()
            }
        }
    }

    /// `ratio of app orders to web orders`: of rows, or of an amount of theirs.
    fn ratio_of_values(&mut self) -> Result<(), Unclear> {
        let meaning = &mut self.meaning;
        let is_pair =
            |filter: &&Filter| matches!(&filter.test, Test::Among(values, true) if values.len() == 2);
        let mut pairs = meaning.filters.iter().filter(is_pair);
        let (Some(Filter { place, test: Test::Among(values, _) }), None) = (pairs.next(), pairs.next())
        else {
            return Err(Unclear::Shape);
        };
        let (place, one, other) = (*place, values[0].clone(), values[1].clone());
        let measure = match (&meaning.measures[..], &meaning.items[..], &meaning.tables[..]) {
            ([Measure::Count(table)], [], _) | ([], [], [table]) => {
                let rows = self.schema.key(*table).or_else(|| self.schema.places(*table).next());
                Measure::Share(rows.ok_or(Unclear::Shape)?)
            }
            ([Measure::Made(Func::Sum, amount)], [], _) | ([], [amount], _)
                if sums::adds_up(self.schema.field(*amount)) =>
            {
                Measure::Part(*amount)
            }
            _ => return Err(Unclear::Shape),
        };
        let only = |value: String| Some(Filter { place, test: Test::Among(vec![value], true) });
        (meaning.share, meaning.whole) = (only(one), only(other));
        meaning.joined.retain(|joined| *joined != place);
        meaning.items.clear();
        meaning.measures = vec![measure];
        Ok(())
    }

    /// `what percentage of orders is over 1000`
    fn share_of_compared(&mut self) -> Result<(), Unclear> {
        let [Filter { place, test: Test::Number(..) | Test::Between(..) }] = self.meaning.filters[..] else {
            return Err(Unclear::Shape);
        };
        let is_of_rows = match self.meaning.measures[..] {
            [] => self.meaning.tables.iter().all(|table| *table == place.table),
            [Measure::Count(table)] => table == place.table,
            _ => false,
        };
        if !is_of_rows || !self.meaning.items.is_empty() {
            return Err(Unclear::Shape);
        }
        self.meaning.share = self.meaning.filters.pop();
        self.meaning.measures = vec![Measure::Share(place)];
        Ok(())
    }

    /// Which condition the share is of. Of several it is what is said of the others: `what share of app orders were
    /// cancelled`; without such a word it is the first one: `the share of cancelled orders in Beijing`.
    fn value_of_share(&self, values: usize) -> Result<usize, Unclear> {
        let mut places = (0..self.meaning.filters.len()).filter(|at| is_value(&self.meaning.filters[*at]));
        let valued: Vec<usize> =
            (0..self.pieces.len()).filter(|at| self.pieces[*at].chunk.may_be_value()).collect();
        let (Some(&first), Some(&last)) = (valued.first(), valued.last()) else { return Err(Unclear::Shape) };
        let between = &self.pieces[first..last];
        if values > 1 && between.iter().any(|piece| matches!(piece.chunk, Chunk::Op(Op::And) | Chunk::Mark)) {
            return Err(Unclear::Shape);
        }
        let says = between.iter().any(|piece| {
            matches!(piece.chunk, Chunk::Op(Op::Is)) || SAYING.contains(&piece.text.to_lowercase().as_str())
        });
        let place =
            if values > 1 && !says && !self.is_chinese_here() { places.next() } else { places.next_back() };
        place.ok_or(Unclear::Shape)
    }

    /// `what percentage of app orders were in October`: of the days, and not of the value.
    fn is_share_of_days(&self) -> bool {
        self.pieces.windows(2).any(|pair| {
            let says = matches!(pair[0].chunk, Chunk::Op(Op::Is | Op::Link))
                || SAYING.contains(&pair[0].text.to_lowercase().as_str());
            says && matches!(pair[1].chunk, Chunk::Range(_) | Chunk::Op(Op::On(_)))
        })
    }

    /// `Longjing as a percentage of green tea sales`
    fn share_follows_a_value(&self) -> bool {
        let share = self.pieces.iter().position(|piece| matches!(piece.chunk, Chunk::Op(Op::Share)));
        share.is_some_and(|at| self.pieces[..at].iter().any(|piece| piece.chunk.may_be_value()))
    }

    /// `month over month revenue growth`, without days: of each month.
    fn growth_of_each_unit(&mut self) {
        let over = self.pieces.iter().find(|piece| matches!(piece.chunk, Chunk::Op(Op::Over(_))));
        let Some(text) = over.map(|piece| piece.text.to_lowercase()) else { return };
        let meaning = &mut self.meaning;
        let names_numbers =
            !meaning.measures.is_empty() || !meaning.items.is_empty() || !meaning.tables.is_empty();
        if !names_numbers || meaning.unit.is_some() || meaning.trend {
            return;
        }
        let called = OVER.iter().find(|(words, _)| words.split('|').any(|word| text.contains(word)));
        let Some((_, unit)) = called else { return };
        // `week over week in November`: of the weeks; `month over month, last month`: of that one.
        let is_part = match meaning.range {
            None => true,
            Some(range) => {
                let is_said = ["over", "on"].iter().any(|word| text.contains(word));
                is_said && *unit != Unit::Year && range.unit() != Some(*unit) && range.begun != Some(*unit)
            }
        };
        if is_part {
            (meaning.unit, meaning.against) = (Some(*unit), None);
        }
    }

    /// The days with which the question compares.
    fn compared_days(&mut self) -> Result<(), Unclear> {
        if !std::mem::take(&mut self.compared) {
            return Ok(());
        }
        let meaning = &mut self.meaning;
        // `北京和上海10月销售额对比`: each of the values.
        let several =
            |filter: &&Filter| matches!(&filter.test, Test::Among(values, true) if values.len() > 1);
        let sides: Vec<Place> = meaning.filters.iter().filter(several).map(|filter| filter.place).collect();
        meaning.joined.retain(|joined| !sides.contains(joined));
        for place in &sides {
            if !meaning.groups.contains(&Group::Field(*place)) {
                meaning.groups.push(Group::Field(*place));
            }
        }
        if meaning.against.is_none() && meaning.earlier.is_none() && !sides.is_empty() {
            // `app vs web orders`
            if let ([], [], [table]) = (&meaning.measures[..], &meaning.items[..], &meaning.tables[..]) {
                meaning.measures.push(Measure::Count(*table));
            }
            return Ok(());
        }
        meaning.against = match (meaning.against, meaning.earlier.take(), meaning.range) {
            (against @ Some(_), None, _) => against,
            (None, Some(earlier), _) => Some(Against::Earlier(earlier)),
            (None, None, Some(_)) => Some(Against::Now),
            _ => return Err(Unclear::Shape),
        };
        Ok(())
    }
}

/// Words of directions that are those of numbers.
const SIZES: [&str; 10] =
    ["high", "low", "large", "small", "highest", "lowest", "largest", "smallest", "most", "fewest"];
/// Words for what a verb is asked for.
const ASKING_LAST: [&str; 5] = ["谁", "是谁", "什么时候", "何时", "时候"];
/// Words at the beginning that say what to show.
const TELLS: [&str; 8] = ["what is", "what are", "what was", "give", "list", "find", "show", "return"];
/// Words after that which begin what is said of it.
const THAT: [&str; 5] = ["that", "which", "who", "shared", "used"];
/// Words for what is not there.
pub(super) const LACKING: [&str; 4] = ["no", "without", "没有", "无"];
/// Words of comparisons of each calendar unit with the one before.
const OVER: [(&str, Unit); 5] = [
    ("day|日", Unit::Day),
    ("week|wow|周", Unit::Week),
    ("quarter|qoq|季", Unit::Quarter),
    ("year|yoy|同比|年", Unit::Year),
    ("month|mom|period|环比|月", Unit::Month),
];
/// Verbs that say something of what is before them.
const SAYING: [&str; 8] = ["was", "were", "made", "placed", "came", "come", "comes", "from"];

/// Whether a condition requires a value.
fn is_value(filter: &Filter) -> bool {
    matches!(filter.test, Test::Among(_, true))
}

/// Whether no row can pass: `founded before 2003 and after 2003` asks for two kinds of rows.
fn contradicts(filters: &[Filter]) -> bool {
    let ends = |filter: &Filter| match filter.test {
        Test::Number(Compare::More | Compare::AtLeast, number) => Some((number, f64::INFINITY)),
        Test::Number(Compare::Less | Compare::AtMost, number) => Some((f64::NEG_INFINITY, number)),
        Test::Number(Compare::Equal, number) => Some((number, number)),
        _ => None,
    };
    filters.iter().enumerate().any(|(at, one)| {
        filters[at + 1..].iter().filter(|other| other.place == one.place).any(|other| {
            ends(one).zip(ends(other)).is_some_and(|(one, other)| one.0.max(other.0) >= one.1.min(other.1))
        })
    })
}
