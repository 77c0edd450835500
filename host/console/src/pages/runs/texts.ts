const en = {
  title: "Runs", lead: "What ran, what runs, and what failed, over all workflows.",
  tabs: { grid: "Grid", running: "Running", failed: "Failed", all: "All executions" },
  states: {
    success: "success", failed: "failed", running: "running", pending: "pending", waiting: "waiting", killed: "killed", paused: "paused", not_run: "not run",
  } as Record<"success" | "failed" | "running" | "pending" | "waiting" | "killed" | "paused" | "not_run", string>,
  triggers: { manual: "manual", schedule: "schedule", backfill: "backfill" },
  // In the grid there is room for one letter; the usual trigger has none.
  triggerSigns: { manual: "M", schedule: "", backfill: "B" }, signs: "M manual, B backfill",
  trend: {
    title: "Executions over time", period: "Period", days: (days: number) => `Last ${days} days`, total: "Executions", rate: "Success rate", success: "succeeded", failed: "failed", allFailed: "Failed", running: "Unfinished",
    average: "Average duration", p95: "95 % end within", other: "other", day: "Day", chart: "Executions of each day by their end",
    point: (day: string, success: number, failed: number, other: number) => `${day}: ${success} succeeded, ${failed} failed, ${other} other`,
  },
  grid: {
    label: "Runs and tasks; arrow keys move, Enter opens", workflow: "Workflow", task: "Task", count: "Number of runs", runs: (count: number) => `${count} runs`, older: "Older", newer: "Newer", legend: "States",
    gone: "Not in the current definition", notInRun: "not part of the run", loading: "loading",
    noWorkflow: "No workflow yet", noWorkflowLead: "Create one", noRuns: "This workflow has not run yet", noRunsLead: "Open it to run it or to bring its schedule online",
  },
  lists: {
    label: "Executions", search: "Search tasks, workflows, errors", any: "any", state: "State", task: "Task", workflow: "Workflow", trigger: "By", businessTime: "Business time", began: "Began", took: "Took", attempt: "Tries", error: "Error",
    none: "Nothing has run yet", noneLead: "Each execution of a task appears here.", noneRunning: "Nothing runs", noneRunningLead: "What begins appears here within seconds.", noneFailed: "Nothing has failed",
    noMatch: "No execution fits the filters", clearFilters: "Clear filters",
    filterOfPage: (shown: string, total: string) => `The filters look through ${shown} of ${total} executions at a time; older ones are on the next pages. The filter by task looks through all.`,
  },
  execution: {
    close: "Close", run: "Run", trigger: "By", began: "Began", ended: "Ended", took: "Took", attempt: "Tries", rows: "Rows changed", retry: "Retry", cancel: "Cancel", sync: "Ask the engine now",
    cancelOf: (task: string) => `Cancel “${task}”`, cancelLead: "Cancelling a task ends the whole run.",
    withheld: "You may not use a data source of this task, so its log is not shown.", notRun: "The run has ended without this task.", notBegun: "The task has not begun.",
  },
  log: { title: "Log", of: (task: string) => `Log of ${task}`, following: "following", waiting: "No line yet.", empty: "The log is empty.", wrap: "Wrap lines", toEnd: "To the end" },
  run: {
    title: (id: string) => `Run ${id}`, runs: "Runs", workflows: "Workflows", state: "State", businessTime: "Business time", manual: "the time of its start", trigger: "By", began: "Began", ended: "Ended", took: "Took", version: "Version", engine: "Engine", seen: "Engine last asked",
    pause: "Pause", resume: "Resume", cancel: "Cancel run", keep: "Keep running", cancelOf: (id: string) => `Cancel the run ${id}`, cancelLead: "What runs is stopped, and nothing more begins.",
    progress: "Tasks ended", graph: "Tasks of the run", tasks: "Tasks of the run", timeline: "Time in the run", rows: "Rows changed", attemptShort: (count: number) => `${count} tries`,
    fromHere: "Run from here", open: "Open the run", noTasks: "No task has been seen yet", noTasksLead: "The engine has not begun one.",
    withheld: "You may not use a data source of this workflow, so texts of errors are not shown.",
    params: "Global parameters", paramsLead: (version: number) => `Those of version ${version}, which is current now. The run was of another version.`,
  },
};

const zh: typeof en = {
  title: "运行", lead: "所有工作流的运行情况：历史、正在运行和失败的任务。",
  tabs: { grid: "网格", running: "运行中", failed: "失败", all: "全部执行" },
  states: { success: "成功", failed: "失败", running: "运行中", pending: "等待中", waiting: "排队中", killed: "已终止", paused: "已暂停", not_run: "未执行" },
  triggers: { manual: "手动", schedule: "调度", backfill: "补数" },
  triggerSigns: { manual: "手", schedule: "", backfill: "补" }, signs: "手：手动，补：补数",
  trend: {
    title: "执行趋势", period: "时间段", days: (days) => `最近 ${days} 天`, total: "执行次数", rate: "成功率", success: "成功", failed: "失败", allFailed: "失败", running: "未结束",
    average: "平均耗时", p95: "95 分位耗时", other: "其他", day: "日期", chart: "每天各状态的执行次数",
    point: (day, success, failed, other) => `${day}：成功 ${success}，失败 ${failed}，其他 ${other}`,
  },
  grid: {
    label: "运行与任务；方向键移动，回车键打开", workflow: "工作流", task: "任务", count: "运行数", runs: (count) => `${count} 次运行`, older: "更早", newer: "更新", legend: "状态",
    gone: "当前定义中已没有该任务", notInRun: "不在该次运行中", loading: "加载中",
    noWorkflow: "还没有工作流", noWorkflowLead: "新建工作流", noRuns: "该工作流还没有运行过", noRunsLead: "打开工作流，立即运行或将调度上线",
  },
  lists: {
    label: "执行记录", search: "搜索任务、工作流、错误", any: "全部", state: "状态", task: "任务", workflow: "工作流", trigger: "触发方式", businessTime: "业务时间", began: "开始时间", took: "耗时", attempt: "尝试次数", error: "错误",
    none: "还没有执行记录", noneLead: "任务的每次执行都会出现在这里。", noneRunning: "没有正在运行的任务", noneRunningLead: "新开始的任务会在几秒内出现。", noneFailed: "没有失败的任务",
    noMatch: "没有符合筛选条件的执行记录", clearFilters: "清除筛选",
    filterOfPage: (shown, total) => `筛选每次作用于 ${shown} 条（共 ${total} 条），更早的记录在后面的页。按任务筛选作用于全部记录。`,
  },
  execution: {
    close: "关闭", run: "运行", trigger: "触发方式", began: "开始时间", ended: "结束时间", took: "耗时", attempt: "尝试次数", rows: "影响行数", retry: "重试", cancel: "终止", sync: "立即同步引擎状态",
    cancelOf: (task) => `终止“${task}”`, cancelLead: "终止任务会结束整个运行。",
    withheld: "无权使用该任务的数据源，因此不显示日志。", notRun: "运行已结束，该任务未执行。", notBegun: "任务尚未开始。",
  },
  log: { title: "日志", of: (task) => `${task} 的日志`, following: "实时跟随", waiting: "暂无日志。", empty: "日志为空。", wrap: "自动换行", toEnd: "跳到末尾" },
  run: {
    title: (id) => `运行 ${id}`, runs: "运行", workflows: "工作流", state: "状态", businessTime: "业务时间", manual: "启动时间", trigger: "触发方式", began: "开始时间", ended: "结束时间", took: "耗时", version: "版本", engine: "调度引擎", seen: "上次同步引擎",
    pause: "暂停", resume: "恢复", cancel: "终止运行", keep: "继续运行", cancelOf: (id) => `终止运行 ${id}`, cancelLead: "正在运行的任务会被停止，不再启动新任务。",
    progress: "已结束的任务", graph: "本次运行的任务", tasks: "本次运行的任务", timeline: "时间线", rows: "影响行数", attemptShort: (count) => `尝试 ${count} 次`,
    fromHere: "从此处运行", open: "打开该运行", noTasks: "还没有任务", noTasksLead: "引擎尚未开始任务。",
    withheld: "无权使用该工作流的某个数据源，因此不显示错误信息。",
    params: "全局参数", paramsLead: (version) => `以下为当前版本 ${version} 的参数，本次运行使用的是其他版本。`,
  },
};

export const TEXTS = { en, zh };
