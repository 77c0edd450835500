/** Names for the codes of the audit log. The codes are English: there they stand for themselves. */
interface Codes {
  operations: Record<string, string>;
  outcomes: Record<string, string>;
}

const zh: Codes = {
  operations: {
    cancelBackfill: "停止补数", createDatasource: "新建数据源", testNewDatasource: "测试新数据源", updateDatasource: "修改数据源",
    deleteDatasource: "删除数据源", startSync: "开始同步", cancelSync: "取消同步", testDatasource: "测试数据源", createEngine: "新建调度引擎",
    updateEngine: "修改调度引擎", deleteEngine: "删除调度引擎", callEngine: "调用调度引擎", testEngine: "测试调度引擎",
    cancelExecution: "终止执行", retryExecution: "重试执行", syncExecution: "同步执行状态", sendOpenLineageEvents: "接收 OpenLineage 事件",
    createTerm: "新建术语", importTerms: "导入术语", updateTerm: "修改术语", deleteTerm: "删除术语", rateAnswer: "评价回答",
    createModel: "新建模型", updateModel: "修改模型", deleteModel: "删除模型", testModel: "测试模型", runStatement: "执行 SQL",
    deliverMessage: "提问", cancelAgentTask: "停止回答", updateToolSettings: "修改工具设置", createTopic: "新建会话", updateTopic: "修改会话",
    deleteTopic: "删除会话", createVerified: "验证问题", importVerified: "导入已验证的问题", updateVerified: "修改已验证的问题",
    deleteVerified: "删除已验证的问题", stagePlugin: "上传插件", activatePlugin: "启用插件", quarantinePlugin: "隔离插件", releasePlugin: "解除插件隔离",
    rollbackPlugin: "回滚插件", removePlugin: "移除插件版本", signIn: "登录", signOut: "退出登录", createTable: "新建表", updateTables: "批量修改表",
    updateTable: "修改表", setTableComment: "修改表注释", createField: "新增字段", updateField: "修改字段", deleteField: "删除字段",
    createPhysicalTable: "创建物理表", purgeTable: "彻底删除表", restoreTable: "恢复表", softDeleteTable: "移入回收站", createTask: "新建任务",
    parseTaskSql: "解析任务 SQL", updateTask: "修改任务", deleteTask: "删除任务", createToken: "创建令牌", revokeToken: "吊销令牌",
    createWorkflow: "新建工作流", exportWorkflows: "批量导出工作流", takeSchedulesOffline: "批量调度下线", bringSchedulesOnline: "批量调度上线",
    publishWorkflows: "批量提交发布", commitWorkflowImport: "导入工作流", previewWorkflowImport: "预览导入", abandonRemoval: "放弃移除",
    updateWorkflow: "修改工作流", deleteWorkflow: "删除工作流", backfillWorkflow: "补数", previewBackfill: "预览补数", copyWorkflow: "复制工作流",
    executeWorkflow: "运行工作流", publishWorkflow: "提交发布", decidePublication: "审批发布", cancelRun: "终止运行", pauseRun: "暂停运行",
    resumeRun: "恢复运行", setSchedule: "设置调度", takeScheduleOffline: "调度下线", bringScheduleOnline: "调度上线", previewSchedule: "预览调度",
    compareWorkflowVersions: "对比版本", rollbackWorkflow: "回滚工作流", callMcp: "MCP 调用", warnOfRun: "运行告警", rotateKey: "更换密钥",
  },
  outcomes: {
    already_active: "已启用", already_decided: "已审批", already_physical: "物理表已存在", already_quarantined: "已被隔离", built_in: "内置，不可更改",
    body_incomplete: "请求不完整", body_missing: "请求为空", body_too_large: "请求过大", canary_percent_invalid: "灰度百分比不正确", cannot_run: "无法运行",
    change_failed: "变更失败", change_running: "变更进行中", component_core_module: "不是组件", component_empty: "组件为空",
    component_export_missing: "组件缺少导出", component_malformed: "组件格式错误", component_no_family: "组件类别不明", component_not_linkable: "组件无法链接",
    component_not_wasm: "不是 WebAssembly", component_precompiled: "组件已预编译", component_several_contracts: "组件有多个契约",
    component_too_costly: "组件编译开销过大", component_too_large: "组件过大", console_header_missing: "缺少控制台请求头",
    contract_version_unknown: "契约版本未知", datasource_not_allowed: "无权使用数据源", deadline_exceeded: "超时", dependency_cycle: "循环依赖",
    deployment_running: "部署进行中", deprecated: "已弃用", description_invalid: "自描述不正确", digest_ambiguous: "摘要有歧义", digest_invalid: "摘要不正确",
    egress_refused: "地址不允许访问", engine_conflict: "与引擎冲突", engine_denied: "引擎拒绝登录", engine_failed: "引擎出错", engine_timeout: "引擎超时",
    engine_unavailable: "引擎不可用", engine_unreachable: "无法连接引擎", four_eyes: "需要他人复核", generation_active: "版本使用中",
    generation_bundled: "内置版本", generation_in_use: "版本使用中", guard_refused: "SQL 防护拒绝", idempotency_key_invalid: "幂等键不正确",
    idempotency_key_reused: "幂等键重复", import_refused: "导入被拒绝", in_use: "使用中", insufficient_role: "角色权限不足", insufficient_scope: "令牌范围不足",
    internal: "内部错误", interrupted: "被中断", invalid_claim: "身份声明不正确", invalid_input: "输入不正确", invalid_json: "JSON 不正确", lease_lost: "租约丢失",
    model_failed: "模型出错", model_gone: "模型已删除", name_ambiguous: "名称有歧义", name_taken: "名称已被使用", no_active_generation: "没有启用的版本",
    no_datasource: "没有数据源", no_fields: "没有字段", no_previous_generation: "没有更早的版本", no_schedule: "没有调度", no_tasks: "没有任务",
    not_a_table: "不是表", not_an_answer: "不是回答", not_changeable: "不可更改", not_deployed: "尚未部署", not_deprecated: "未弃用", not_found: "不存在",
    not_online: "未上线", not_owner: "不是所有者", not_physical: "没有物理表", not_quarantined: "未被隔离", not_retryable: "不可重试", not_running: "未在运行",
    not_yet: "尚不支持", nothing_to_change: "没有更改", oidc_unreachable: "无法连接身份提供方", plugin_answer_too_large: "插件返回内容过大",
    plugin_broke_contract: "插件违反契约", plugin_busy: "插件繁忙", plugin_memory_exceeded: "插件内存超限", plugin_not_active: "插件未启用",
    plugin_quarantined: "插件被隔离", plugin_replaced: "插件已被替换", plugin_stack_exceeded: "插件栈超限", plugin_timeout: "插件超时",
    plugin_trapped: "插件崩溃", precondition_failed: "内容已被他人修改", preview_stale: "预览已过期", protocol_error: "协议错误",
    publication_pending: "已有待审批的发布", queue_full: "队列已满", rate_limited: "请求过于频繁", role_claim_missing: "缺少角色声明",
    schedule_expired: "调度已过期", schema_drift: "结构与数据库不一致", server_busy: "服务器繁忙", stale_replica: "副本滞后", statement_too_heavy: "语句开销过大",
    store_busy: "存储繁忙", sync_running: "同步进行中", task_running: "任务运行中", too_many_datasources: "数据源过多", too_many_engines: "引擎过多",
    too_many_entries: "条目过多", too_many_fields: "字段过多", too_many_generations: "版本过多", too_many_messages: "消息过多", too_many_models: "模型过多",
    too_many_tables: "表过多", too_many_tasks: "任务过多", too_many_topics: "会话过多", topic_full: "会话已满", unauthenticated: "未登录",
    unreachable: "无法连接", unsupported_by_dialect: "方言不支持", unsupported_by_engine: "引擎不支持", unsupported_media_type: "内容类型不支持",
    upstream_denied: "上游拒绝登录", upstream_failed: "上游出错", upstream_timeout: "上游超时", upstream_unavailable: "上游不可用",
    workflow_too_large: "工作流过大", wrong_cluster: "数据源不一致",
  },
};

export const CODES: { en: Codes; zh: Codes } = { en: { operations: {}, outcomes: {} }, zh };
