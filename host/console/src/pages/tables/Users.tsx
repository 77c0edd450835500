/** The tasks that a table in or from the recycle bin concerns. */
import { useQuery } from "@tanstack/react-query";
import { useTexts } from "../../i18n";
import { Loaded } from "../../ui/page";
import { tasksOfQuery } from "./api";
import { TABLE_TEXTS } from "./texts-table";

/** `note`: what the change means for them. */
export function Users({ id, note }: { id: number; note?: string }) {
  const t = useTexts(TABLE_TEXTS);
  const query = useQuery(tasksOfQuery(id));
  return (
    <Loaded query={query}>
      {({ records: tasks, total }) => (total === 0 ? <p className="small">{t.noUsers}</p> : (
        <div className="stack">
          <p className="small">{t.users(total)}{note && ` ${note}`}</p>
          <ul className="tables-plain">
            {tasks.map((task) => <li key={task.id}>{task.workflowName === null ? task.taskName : `${task.workflowName} · ${task.taskName}`}</li>)}
          </ul>
          {tasks.length < total && <p className="small">{t.tasksCut(tasks.length, total)}</p>}
        </div>
      ))}
    </Loaded>
  );
}
