/** The workflows that write a table and that read it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTexts } from "../../i18n";
import type { Schemas } from "../../api/client";
import { marked } from "../../ui/marks";
import { type Columns, DataTable } from "../../ui/table";
import { Empty, Loaded, Section, Tag } from "../../ui/page";
import { tasksOfQuery } from "./api";
import { TABLE_TEXTS } from "./texts-table";

type Task = Schemas["Task"];

export function Tasks({ id }: { id: number }) {
  const t = useTexts(TABLE_TEXTS);
  const query = useQuery(tasksOfQuery(id));
  const columns: Columns<Task> = [
    {
      id: "workflow", header: t.workflow, accessorFn: (task) => task.workflowName ?? "",
      cell: ({ row: { original: task } }) => (task.workflowId === null
        ? <span className="faint">{t.noWorkflow}</span> : <Link to={`/workflows/${task.workflowId}`}>{marked(task.workflowName)}</Link>),
    },
    { id: "task", header: t.task, accessorFn: (task) => task.taskName },
    { id: "type", header: t.type, accessorFn: (task) => task.taskType, cell: ({ row: { original: task } }) => <Tag>{task.taskType}</Tag> },
  ];
  const list = (title: string, tasks: Task[], none: string) => (
    <Section title={title}>
      {tasks.length === 0 ? <p className="faint">{none}</p> : <DataTable rows={tasks} columns={columns} label={title} keyOf={(task) => String(task.id)} />}
    </Section>
  );
  return (
    <Loaded query={query}>
      {({ records: tasks, total }) => (total === 0 ? (
        <Empty icon="workflow" title={t.noTasks}>{t.noTasksLead} <Link to="/workflows">{t.toWorkflows}</Link></Empty>
      ) : (
        <>
          {tasks.length < total && <p className="small">{t.tasksCut(tasks.length, total)}</p>}
          {list(t.writers, tasks.filter((task) => task.outputTableIds.includes(id)), tasks.length < total ? t.noneListed : t.noWriters)}
          {list(t.readers, tasks.filter((task) => task.inputTableIds.includes(id)), tasks.length < total ? t.noneListed : t.noReaders)}
        </>
      ))}
    </Loaded>
  );
}
