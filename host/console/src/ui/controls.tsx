/** Controls: React Aria's components in the console's clothes. */
import { type ReactNode, useEffect, useRef } from "react";
import {
  Button as AriaButton,
  type ButtonProps,
  Checkbox as AriaCheckbox,
  Dialog as AriaDialog,
  DialogTrigger,
  FieldError,
  Heading,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Menu as AriaMenu,
  MenuItem,
  MenuTrigger,
  Modal,
  ModalOverlay,
  Popover,
  SearchField as AriaSearchField,
  Select as AriaSelect,
  SelectValue,
  Switch as AriaSwitch,
  Tab,
  TabList,
  TabPanel,
  Tabs as AriaTabs,
  Text,
  TextArea as AriaTextArea,
  TextField as AriaTextField,
  Tooltip,
  TooltipTrigger,
} from "react-aria-components";
import { useTexts } from "../i18n";
import { Icon, type IconName } from "./icons";
import { marked } from "./marks";
import { TEXTS } from "./texts";

type Kind = "plain" | "primary" | "danger" | "quiet";

/** A button. With an icon and no children it is square: give it an `aria-label`. */
export function Button({
  kind = "plain",
  icon,
  isBusy,
  children,
  ...rest
}: Omit<ButtonProps, "children" | "className"> & { kind?: Kind; icon?: IconName; isBusy?: boolean; children?: ReactNode }) {
  return (
    <AriaButton {...rest} isPending={isBusy} className={`button ${kind}${children ? "" : " square"}`}>
      {icon && <Icon name={icon} />}
      {marked(children)}
    </AriaButton>
  );
}

/** A square button with an icon and a tooltip. */
export function IconButton({ label, ...rest }: { label: string; icon: IconName; onPress?: () => void; isDisabled?: boolean; kind?: Kind }) {
  return (
    <TooltipTrigger delay={400}>
      <Button kind="quiet" {...rest} aria-label={label} />
      <Tooltip className="tooltip" offset={6}>
        {label}
      </Tooltip>
    </TooltipTrigger>
  );
}

interface FieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: ReactNode;
  /** What is wrong with the value, as the server or the page says it. */
  error?: string | undefined;
  isRequired?: boolean;
  isDisabled?: boolean;
  placeholder?: string;
  /** The label is for screen readers only. */
  isLabelHidden?: boolean;
}

export function TextField({
  label,
  hint,
  error,
  isLabelHidden,
  placeholder,
  type,
  autoFocus,
  maxLength,
  ...rest
}: FieldProps & { type?: "text" | "password" | "number" | "url" | "datetime-local"; autoFocus?: boolean; maxLength?: number }) {
  return (
    <AriaTextField {...rest} validationBehavior="aria" type={type ?? "text"} isInvalid={error !== undefined} className="field" autoComplete="off"
      {...(isLabelHidden ? { "aria-label": label } : {})} {...(maxLength === undefined ? {} : { maxLength })}>
      {!isLabelHidden && <Label>{label}</Label>}
      <Input placeholder={placeholder ?? ""} autoFocus={autoFocus ?? false} />
      {hint && <Text slot="description">{hint}</Text>}
      <FieldError>{marked(error)}</FieldError>
    </AriaTextField>
  );
}

export function TextArea({ label, hint, error, isLabelHidden, placeholder, rows, ...rest }: FieldProps & { rows?: number }) {
  return (
    <AriaTextField {...rest} validationBehavior="aria" isInvalid={error !== undefined} className="field"
      {...(isLabelHidden ? { "aria-label": label } : {})}>
      {!isLabelHidden && <Label>{label}</Label>}
      <AriaTextArea rows={rows ?? 4} placeholder={placeholder ?? ""} />
      {hint && <Text slot="description">{hint}</Text>}
      <FieldError>{marked(error)}</FieldError>
    </AriaTextField>
  );
}

export function SearchField({ label, value, onChange, placeholder, id }: {
  label: string; value: string; onChange: (value: string) => void; placeholder?: string; id?: string;
}) {
  return (
    <AriaSearchField aria-label={label} value={value} onChange={onChange} className="field search">
      <Icon name="search" />
      <Input placeholder={placeholder ?? label} {...(id === undefined ? {} : { id })} data-search=""
        onKeyDown={(event) => {
          // With a text, Escape clears it; without one it leaves the field, so that the page's keys work again.
          if (event.key === "Escape" && value === "") event.currentTarget.blur();
        }} />
    </AriaSearchField>
  );
}

export interface Choice<T extends string = string> {
  value: T;
  label: string;
}

export function Select<T extends string>({ label, value, onChange, choices, error, hint, isLabelHidden, isDisabled }: {
  label: string; value: T; onChange: (value: T) => void; choices: readonly Choice<T>[];
  error?: string | undefined; hint?: ReactNode; isLabelHidden?: boolean; isDisabled?: boolean;
}) {
  const t = useTexts(TEXTS);
  return (
    <AriaSelect validationBehavior="aria" placeholder={t.choose} selectedKey={value} onSelectionChange={(key) => key !== null && onChange(String(key) as T)}
      isInvalid={error !== undefined} isDisabled={isDisabled ?? false} className="field"
      {...(isLabelHidden ? { "aria-label": label } : {})}>
      {!isLabelHidden && <Label>{label}</Label>}
      <AriaButton className="button select">
        <SelectValue />
        <Icon name="down" />
      </AriaButton>
      {hint && <Text slot="description">{hint}</Text>}
      <FieldError>{marked(error)}</FieldError>
      <Popover className="popover">
        <ListBox items={choices.map((choice) => ({ id: choice.value, label: choice.label }))} className="listbox">
          {(item) => (
            <ListBoxItem id={item.id} textValue={item.label} className="option">
              {marked(item.label)}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </AriaSelect>
  );
}

export function Checkbox({ label, isSelected, onChange, isDisabled }: {
  label: ReactNode; isSelected: boolean; onChange: (value: boolean) => void; isDisabled?: boolean;
}) {
  return (
    <AriaCheckbox isSelected={isSelected} onChange={onChange} isDisabled={isDisabled ?? false} className="checkbox">
      <span className="box"><Icon name="check" /></span>
      {label}
    </AriaCheckbox>
  );
}

export function Switch({ label, isSelected, onChange, isDisabled }: {
  label: ReactNode; isSelected: boolean; onChange: (value: boolean) => void; isDisabled?: boolean;
}) {
  return (
    <AriaSwitch isSelected={isSelected} onChange={onChange} isDisabled={isDisabled ?? false} className="switch">
      <span className="track" />
      {label}
    </AriaSwitch>
  );
}

/** Tabs whose choice the caller keeps, best in the URL. */
export function Tabs<T extends string>({ label, value, onChange, tabs }: {
  label: string; value: T; onChange: (value: T) => void; tabs: readonly { id: T; title: ReactNode; content: ReactNode }[];
}) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // On a narrow screen the tabs scroll. Only they: the page stays where it is. They are drawn after this component.
    const frame = requestAnimationFrame(() => {
      const chosen = list.current?.querySelector<HTMLElement>("[data-selected]");
      if (list.current && chosen) list.current.scrollLeft = chosen.offsetLeft - (list.current.clientWidth - chosen.offsetWidth) / 2;
    });
    return () => cancelAnimationFrame(frame);
  }, [value]);
  return (
    <AriaTabs selectedKey={value} onSelectionChange={(key) => onChange(String(key) as T)} className="tabs">
      <TabList ref={list} aria-label={label} className="tablist">
        {tabs.map((tab) => <Tab key={tab.id} id={tab.id} className="tab">{tab.title}</Tab>)}
      </TabList>
      {tabs.map((tab) => <TabPanel key={tab.id} id={tab.id} className="tabpanel">{tab.content}</TabPanel>)}
    </AriaTabs>
  );
}

/** A dialog above the page. */
export function Dialog({ title, isOpen, onClose, children, isWide, isDismissable = false, isBusy = false }: {
  title: string; isOpen: boolean; onClose: () => void; children: ReactNode; isWide?: boolean;
  /** A press beside it closes it: for what is only read, where nothing can be lost. */
  isDismissable?: boolean;
  /** It cannot be closed, so that the outcome is seen. */
  isBusy?: boolean;
}) {
  const t = useTexts(TEXTS);
  return (
    <ModalOverlay isOpen={isOpen} onOpenChange={(open) => !open && onClose()} isDismissable={isDismissable && !isBusy}
      isKeyboardDismissDisabled={isBusy} className="overlay">
      <Modal className={isWide ? "modal wide" : "modal"}>
        <AriaDialog className="dialog">
          <header>
            <Heading slot="title">{marked(title)}</Heading>
            <Button kind="quiet" icon="close" aria-label={t.close} isDisabled={isBusy} onPress={onClose} />
          </header>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

/** The buttons at the foot of a dialog or form. */
export function Actions({ children }: { children: ReactNode }) {
  return <div className="actions">{children}</div>;
}

export interface MenuEntry {
  id: string;
  label: string;
  icon?: IconName;
  isDanger?: boolean;
  onAction: () => void;
}

/** A button that opens a list of actions; nothing without entries. */
export function Menu({ label, icon = "more", entries }: { label: string; icon?: IconName; entries: readonly MenuEntry[] }) {
  if (entries.length === 0) return null;
  return (
    <MenuTrigger>
      <Button kind="quiet" icon={icon} aria-label={label} />
      <Popover className="popover" placement="bottom end">
        <AriaMenu className="listbox" onAction={(key) => entries.find((entry) => entry.id === key)?.onAction()}>
          {entries.map((entry) => (
            <MenuItem key={entry.id} id={entry.id} textValue={entry.label} className={entry.isDanger ? "option danger" : "option"}>
              {entry.icon && <Icon name={entry.icon} />}
              {marked(entry.label)}
            </MenuItem>
          ))}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  );
}

export { DialogTrigger };
