//! Synonyms in English and Chinese. The first English word of a line names the concept.

use super::index::{Index, Longest, index, members};

/// English words, the concept first, and Chinese ones, with `|` between them. A longer Chinese word is matched before its
/// parts.
const LINES: &[(&str, &str)] = &[
    ("workflow|flow|pipeline|dag", "工作流|流程"),
    ("publish|publication|publishing|deploy|deployment", "发布|已发布|部署"),
    ("execution|execute|run|job", "执行|运行"),
    ("task|node", "任务"),
    ("table", "表|数据表"),
    ("column|field", "字段"),
    ("lineage", "血缘"),
    ("access", "访问"),
    ("datasource", "数据源"),
    ("layer|tier", "分层|层级|层"),
    ("owner", "负责人|所有者"),
    ("record", "记录"),
    ("submit|submission", "提交"),
    ("approve|decide|approval|decision", "审批|审核"),
    ("create|creation", "创建|新建|新增"),
    ("update|modify", "更新|修改"),
    ("start|begin", "开始|启动"),
    ("end|finish|complete", "结束|完成"),
    ("schedule", "调度|计划"),
    ("trigger", "触发"),
    ("priority", "优先级"),
    ("version", "版本"),
    ("engine", "引擎"),
    ("state|status", "状态"),
    ("fail|failed|failure|unsuccessful", "失败"),
    ("success|successful|succeeded|succeed", "成功"),
    ("running", "运行中|执行中|正在运行"),
    ("pending|waiting", "待审批|待处理|等待中|待定"),
    ("online", "在线|已上线|上线"),
    ("offline", "离线|已下线|下线"),
    ("draft", "草稿"),
    ("killed", "已终止|被终止"),
    ("paused|suspended", "暂停|已暂停"),
    ("rejected|reject", "被拒绝|已拒绝|驳回"),
    ("approved", "已批准|已通过"),
    ("outdated", "已过期"),
    ("deprecated", "已弃用|弃用|废弃"),
    ("active", "活跃|有效"),
    ("manual", "手动|人工"),
    ("backfill", "补数"),
    ("paid", "已付款|已支付"),
    ("shipped", "已发货"),
    ("delivered", "已送达|已签收"),
    ("cancelled|canceled", "已取消|取消"),
    ("cancel|cancellation", "撤销"),
    ("refunded", "已退款"),
    ("completed", "已完成"),
    ("order|purchase|buy", "订单|下单|购买|买"),
    ("item|line", "明细|条目"),
    ("customer|client", "客户|顾客"),
    ("buyer", "买家|购买人"),
    ("user", "用户"),
    ("member", "会员"),
    ("supplier|vendor", "供应商"),
    ("employee|staff", "员工|雇员|职员"),
    ("department", "部门"),
    ("store|shop", "门店|店铺|商店"),
    ("product|goods|merchandise", "商品|产品"),
    ("category", "类别|品类|分类"),
    ("type|kind", "类型|种类"),
    ("brand", "品牌"),
    ("warehouse", "仓库"),
    ("stock|inventory", "库存"),
    ("payment", "支付|付款"),
    ("refund", "退款"),
    ("shipment|shipping|delivery", "物流|发货|配送"),
    ("review|comment", "评价|评论"),
    ("rating|score", "评分|分数"),
    ("amount|value", "金额|成交额|交易额"),
    ("sale|sell", "销售|销售额"),
    ("price", "价格|单价|售价"),
    ("cost", "成本"),
    ("revenue|turnover", "收入|营收"),
    ("profit", "利润"),
    ("discount", "折扣"),
    ("quantity|qty", "数量|销量"),
    ("salary|wage", "工资|薪资|薪水"),
    ("age", "年龄"),
    ("gender|sex", "性别"),
    ("name", "名称|名字|姓名|名"),
    ("title", "标题"),
    ("description", "描述|说明"),
    ("id|identifier", "编号|标识"),
    ("number|num", "号码"),
    ("code", "代码|编码"),
    ("phone|telephone", "电话|手机"),
    ("email|mail", "邮箱|邮件"),
    ("address", "地址"),
    ("city|town", "城市"),
    ("province", "省份|省"),
    ("country|nation", "国家"),
    ("region", "地区|区域|大区"),
    ("channel", "渠道"),
    ("gold", "黄金|金卡"),
    ("silver", "白银|银卡"),
    ("level|grade", "等级|级别"),
    ("person", "人"),
    ("student|pupil", "学生"),
    ("teacher", "老师|教师"),
    ("course|class", "课程"),
    ("school", "学校"),
    ("population", "人口"),
    ("area", "面积"),
    ("duration|elapsed", "时长|耗时|用时|执行时间|运行时间"),
    ("second", "秒|秒数"),
    ("time", "时间"),
    ("date", "日期"),
    ("row", "行"),
    ("size", "大小"),
    ("domain", "域"),
    ("attempt", "尝试"),
    ("register|signup|registration", "注册"),
    ("birth|born", "出生"),
    ("build|construct|construction", "建造|建成"),
    ("pay", "缴费"),
    ("weight", "重量"),
    ("height", "身高"),
    ("beijing", "北京|北京市"),
    ("shanghai", "上海|上海市"),
    ("guangzhou", "广州|广州市"),
    ("shenzhen", "深圳|深圳市"),
    ("hangzhou", "杭州|杭州市"),
    ("nanjing", "南京|南京市"),
    ("chengdu", "成都|成都市"),
    ("wuhan", "武汉|武汉市"),
    ("tianjin", "天津|天津市"),
    ("chongqing", "重庆|重庆市"),
    ("suzhou", "苏州|苏州市"),
    ("london", "伦敦"),
    ("paris", "巴黎"),
    ("tokyo", "东京"),
    ("newyork", "纽约"),
    ("singapore", "新加坡"),
    ("hongkong", "香港"),
];

/// The concepts of English words.
static ENGLISH: Index = index!(&[members!(LINES, 0)], "|", "");
static CHINESE: Index = index!(&[members!(LINES, 1)], "|", "");
pub static LONGEST: Longest = Longest::of(&[members!(LINES, 1)]);

/// The concept of an English word.
pub fn english(word: &str) -> Option<&'static str> {
    concept(&ENGLISH, word)
}

/// The concept of a Chinese word.
pub fn chinese(word: &str) -> Option<&'static str> {
    concept(&CHINESE, word)
}

fn concept(index: &Index, word: &str) -> Option<&'static str> {
    let (_, line) = index.get(word).next()?;
    LINES[line].0.split('|').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_one_thing() {
        let mut words: Vec<&str> = LINES
            .iter()
            .flat_map(|(english, chinese)| english.split('|').chain(chinese.split('|')))
            .collect();
        words.sort_unstable();
        for pair in words.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
        assert_eq!(english("publication"), Some("publish"));
        assert_eq!(chinese("工作流"), Some("workflow"));
    }
}
