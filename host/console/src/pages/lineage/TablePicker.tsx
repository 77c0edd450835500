/** Finds a table by its name while it is typed. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { Button, ComboBox, Input, Label, ListBox, ListBoxItem, Popover } from "react-aria-components";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { TEXTS } from "./texts";

export function TablePicker({ onPick }: { onPick: (id: number) => void }) {
  const t = useTexts(TEXTS);
  const [typed, setTyped] = useState("");
  // A field that was emptied would open its list again: each pick ends with a new field.
  const [picks, setPicks] = useState(0);
  const keyword = useDeferredValue(typed.trim());
  const found = useQuery({
    queryKey: ["tables", "pick", keyword],
    queryFn: () => data<Schemas["PageOfTable"]>(api.GET("/api/v1/tables", {
      params: { query: { ...(keyword === "" ? {} : { keyword }), pageSize: 30, sortField: "tableName" } },
    })),
    placeholderData: keepPreviousData,
  });
  const items = (found.data?.records ?? []).map((table) => ({ ...table, id: String(table.id) }));
  return (
    <ComboBox key={picks} className="field lineage-pick" inputValue={typed} onInputChange={setTyped} selectedKey={null} items={items} allowsEmptyCollection menuTrigger="focus"
      // The server has searched.
      defaultFilter={() => true}
      onSelectionChange={(key) => {
        if (key === null) return;
        setTyped("");
        setPicks(picks + 1);
        onPick(Number(key));
      }}>
      <Label>{t.pick}</Label>
      <div className="lineage-pickbox">
        <Icon name="search" />
        <Input placeholder={t.pickHint} data-search="" />
        <Button className="button quiet square" aria-label={t.pick}><Icon name="down" /></Button>
      </div>
      <Popover className="popover">
        <ListBox<(typeof items)[number]> className="listbox" renderEmptyState={() => <p className="lineage-none small">{t.noTable}</p>}>
          {(table) => (
            <ListBoxItem id={table.id} textValue={table.tableName} className="option lineage-option">
              <span><span className="strong">{marked(table.tableName)}</span> <span className="small">{table.dbName}{table.layer && ` · ${table.layer}`}</span></span>
              {table.tableComment && <span className="small lineage-comment">{table.tableComment}</span>}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}
