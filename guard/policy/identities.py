"""Identities: arguments that say on whose behalf a tool acts, in the spellings and languages that authors of tools use.

The one home of these names: the loader warns about those that nobody owns, `guard init` guesses a binding for each. Pure; knows no tool.
Comes before hints.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

_PRINCIPAL = """
    user_id user_no user_number user_key user_ref user_uuid user_guid user_identifier
    current_user current_user_id my_id my_user_id self_id login_id logged_in_user_id acting_user_id signed_in_user_id session_user_id
    customer_id customer_no customer_number customer_key customer_ref customer_identifier customer_uuid
    employee_id employee_no employee_number employee_key employee_ref emp_id emp_no staff_id staff_no worker_id personnel_number
    member_id member_no member_number membership_id membership_number
    principal principal_id subject_id requester requester_id requestor requestor_id caller caller_id on_behalf_of
    benutzer_id benutzer_nr nutzer_id kunden_id kunden_nr kundennummer kunde_id mitarbeiter_id mitarbeiternummer personalnummer
    usuario_id id_usuario cliente_id id_cliente numero_cliente empleado_id id_empleado
    utilisateur_id id_utilisateur numero_client matricule_employe id_employe
    utente_id id_utente dipendente_id id_dipendente matricola_dipendente
    id_do_usuario usuario_codigo funcionario_id id_funcionario
    gebruiker_id klant_id klantnummer medewerker_id personeelsnummer
    用户id 用户编号 客户id 客户编号 员工id 员工编号 员工号 工号 会员号 会员id
    ユーザーid ユーザid 顧客id 顧客番号 社員番号 사용자id 고객id 고객번호 사원번호 직원id
    ид_пользователя пользователь_id клиент_id ид_клиента табельный_номер
"""
_TENANT = """
    tenant tenant_id tenant_key tenant_code tenant_name tenant_uuid mandant mandant_id mandanten_id inquilino_id 租户 租户id テナントid 테넌트id
"""
_PERHAPS = {
    "principal": """
        uid account_id account_no account_number account owner owner_id author author_id creator creator_id created_by requested_by submitted_by
        sender sender_id from_user from_user_id user username user_name login profile_id patient_id student_id client_id client_no
        subscriber_id buyer_id seller_id passenger_id guest_id person_id holder_id account_holder kunde benutzer usuario utilisateur
        agent_id actor actor_id assignee_id 用户 账户id 账号 アカウントid 계정id
    """,
    "tenant": """
        org org_id organization organization_id organisation organisation_id organization_name company company_id company_code workspace
        workspace_id team_id shop_id store_id site_id project_id business_id institution_id firma firma_id empresa_id entreprise_id
        组织id 公司id 会社id 회사id
    """,
    "roles": "role roles user_role user_roles my_role permission permissions rolle rollen rol 角色 役割",
    "email": "email email_address user_email my_email customer_email employee_email requester_email from_email sender_email correo 邮箱",
    "phone": "my_phone user_phone customer_phone phone_number_of_user",
    "job_level": "job_level job_grade grade seniority seniority_level pay_grade employee_level 职级",
    "department": "department department_id dept dept_id cost_center cost_centre abteilung kostenstelle 部门",
    "city_tier": "city_tier home_city",
    "tier": "customer_tier user_tier membership_level membership_tier loyalty_tier",
    "groups": "group_ids user_groups my_groups",
}


def _key(name: str) -> str:
    """Letters and digits alone, so that `userId`, `user-id`, `USER ID` and `user.id` are one; the `X-` of a header falls away."""
    name = name[2:] if name.lower().startswith("x-") else name
    return "".join(char for char in unicodedata.normalize("NFKC", name).casefold() if char.isalnum())


PRINCIPALS = frozenset(_key(name) for name in _PRINCIPAL.split())
TENANTS = frozenset(_key(name) for name in _TENANT.split())
PERHAPS: Mapping[str, str] = {_key(name): fact for fact, names in _PERHAPS.items() for name in names.split()}
"""Names that often, but not always, mean the caller, and the fact of the session that would be meant."""
_ALSO = frozenset({"accountid", "ownerid"})  # only perhaps the caller's, but nobody should leave them to the model unnoticed


def owner(name: str) -> str | None:
    """The fact of the session that an argument of this name almost certainly is: `principal`, `tenant` or None."""
    key = _key(name)
    return "principal" if key in PRINCIPALS else "tenant" if key in TENANTS else None


def perhaps(name: str) -> str | None:
    """The fact of the session that an argument of this name may be, where it may as well be somebody else's."""
    return PERHAPS.get(_key(name))


def is_identity(name: str) -> bool:
    """Whether somebody should own an argument of this name."""
    return owner(name) is not None or _key(name) in _ALSO
