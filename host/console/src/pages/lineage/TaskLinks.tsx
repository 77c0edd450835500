/** Tasks by their ids: name and workflow, with links. */
import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, data, Failed, type Schemas } from "../../api/client";
import { useFormat, useTexts } from "../../i18n";
import { marked } from "../../ui/marks";
import { Failure, Loading } from "../../ui/page";
import { TEXTS } from "./texts";

type Task = Schemas["Task"];

const NAMED_MAX = 20;

const combined = (results: UseQueryResult<Task>[]) => ({
  tasks: results.map((result) => result.data),
  isPending: results.some((result) => result.isPending),
  // One that is gone meanwhile is no failure of the others.
  error: results.find((result) => result.error && !(result.error instanceof Failed && result.error.status === 404))?.error ?? null,
});

/** `count` of all tasks; the server names the first hundred. */
export function TaskLinks({ ids, count }: { ids: readonly number[]; count: number }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const named = ids.slice(0, NAMED_MAX);
  const { tasks, isPending, error } = useQueries({
    queries: named.map((id) => ({
      queryKey: ["tasks", id, "named"],
      queryFn: () => data<Task>(api.GET("/api/v1/tasks/{id}", { params: { path: { id } } })),
      staleTime: 30_000,
    })),
    combine: combined,
  });
  if (isPending) return <Loading lines={Math.min(named.length, 3)} />;
  return (
    <>
      <Failure error={error} />
      <ul className="lineage-tasks">
        {named.map((id, place) => {
          const task = tasks[place];
          if (!task) return <li key={id} className="faint">{t.taskGone} ({id})</li>;
          return (
            <li key={id}>
              {task.workflowId === null
                ? <span className="strong">{marked(task.taskName)}</span>
                : <Link to={`/workflows/${task.workflowId}`} search={{ task: id } as never} className="strong">{marked(task.taskName)}</Link>}
              <span className="small"> {task.taskType} · {task.workflowId === null ? t.noWorkflow : task.workflowName}</span>
            </li>
          );
        })}
      </ul>
      {count > named.length && <p className="small">{t.moreTasks(format.number(count - named.length))}</p>}
    </>
  );
}
