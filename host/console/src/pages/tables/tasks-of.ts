/** The tasks that write and read a table. */
import { api, data, type Schemas } from "../../api/client";

export interface TasksOf {
  writers: Schemas["Task"][];
  readers: Schemas["Task"][];
  /** False where only the tasks of the lineage's edges could be asked for. */
  isWhole: boolean;
}

/** With no more tasks than these all are read; there is no list of a table's tasks. */
const LIST_MAX = 100;
/** As many tasks of a table are shown. */
const SHOWN_MAX = 60;

async function tasksOf(id: number): Promise<TasksOf> {
  const list = await data(api.GET("/api/v1/tasks", { params: { query: { pageSize: LIST_MAX } } }));
  const isWhole = list.total <= list.records.length;
  const tasks = isWhole ? list.records : await tasksOfEdges(id);
  return {
    writers: tasks.filter((task) => task.outputTableIds.includes(id)),
    readers: tasks.filter((task) => task.inputTableIds.includes(id)),
    isWhole,
  };
}

async function tasksOfEdges(id: number): Promise<Schemas["Task"][]> {
  const query = { tableId: id, depth: 1, includeDeprecated: true };
  const graph = await data(api.GET("/api/v1/lineage", { params: { query } }));
  const ids = [...new Set(graph.edges.flatMap((edge) => edge.taskIds))].slice(0, SHOWN_MAX);
  return Promise.all(ids.map((task) => data(api.GET("/api/v1/tasks/{id}", { params: { path: { id: task } } }))));
}

export const tasksOfQuery = (id: number) => ({ queryKey: ["tasks", "of-table", id], queryFn: () => tasksOf(id) });
