/** The tasks that a table in or from the recycle bin concerns. */
import { useQuery } from "@tanstack/react-query";
import { useTexts } from "../../i18n";
import { Loaded } from "../../ui/page";
import { tasksOfQuery } from "./tasks-of";
import { TABLE_TEXTS } from "./texts-table";

export function Users({ id }: { id: number }) {
  const t = useTexts(TABLE_TEXTS);
  const query = useQuery(tasksOfQuery(id));
  return (
    <Loaded query={query}>
      {({ writers, readers }) => {
        const tasks = [...new Map([...writers, ...readers].map((task) => [task.id, task])).values()];
        if (tasks.length === 0) return <p className="small">{t.noUsers}</p>;
        return (
          <div className="stack">
            <p className="small">{t.users(tasks.length)}</p>
            <ul className="tables-plain">
              {tasks.map((task) => <li key={task.id}>{task.workflowName === null ? task.taskName : `${task.workflowName} · ${task.taskName}`}</li>)}
            </ul>
          </div>
        );
      }}
    </Loaded>
  );
}
