// Written by scripts/web_files.py.
#include "web_files.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char api_asyncapi_json[] = {
#embed "web/api/asyncapi.json"
};
static const unsigned char api_openapi_json[] = {
#embed "web/api/openapi.json"
};
static const unsigned char dashboard_access_css[] = {
#embed "web/dashboard/access.css"
};
static const unsigned char dashboard_access_js[] = {
#embed "web/dashboard/access.js"
};
static const unsigned char dashboard_app_js[] = {
#embed "web/dashboard/app.js"
};
static const unsigned char dashboard_base_css[] = {
#embed "web/dashboard/base.css"
};
static const unsigned char dashboard_branch_dialogs_js[] = {
#embed "web/dashboard/branch-dialogs.js"
};
static const unsigned char dashboard_branch_js[] = {
#embed "web/dashboard/branch.js"
};
static const unsigned char dashboard_branches_css[] = {
#embed "web/dashboard/branches.css"
};
static const unsigned char dashboard_branches_js[] = {
#embed "web/dashboard/branches.js"
};
static const unsigned char dashboard_comparison_js[] = {
#embed "web/dashboard/comparison.js"
};
static const unsigned char dashboard_conflicts_js[] = {
#embed "web/dashboard/conflicts.js"
};
static const unsigned char dashboard_dialogs_js[] = {
#embed "web/dashboard/dialogs.js"
};
static const unsigned char dashboard_dom_js[] = {
#embed "web/dashboard/dom.js"
};
static const unsigned char dashboard_health_js[] = {
#embed "web/dashboard/health.js"
};
static const unsigned char dashboard_icon_svg[] = {
#embed "web/dashboard/icon.svg"
};
static const unsigned char dashboard_object_js[] = {
#embed "web/dashboard/object.js"
};
static const unsigned char dashboard_objects_js[] = {
#embed "web/dashboard/objects.js"
};
static const unsigned char dashboard_past_properties_js[] = {
#embed "web/dashboard/past-properties.js"
};
static const unsigned char dashboard_past_css[] = {
#embed "web/dashboard/past.css"
};
static const unsigned char dashboard_past_js[] = {
#embed "web/dashboard/past.js"
};
static const unsigned char dashboard_peers_js[] = {
#embed "web/dashboard/peers.js"
};
static const unsigned char dashboard_properties_js[] = {
#embed "web/dashboard/properties.js"
};
static const unsigned char dashboard_rejected_css[] = {
#embed "web/dashboard/rejected.css"
};
static const unsigned char dashboard_rejected_js[] = {
#embed "web/dashboard/rejected.js"
};
static const unsigned char dashboard_removal_css[] = {
#embed "web/dashboard/removal.css"
};
static const unsigned char dashboard_removal_js[] = {
#embed "web/dashboard/removal.js"
};
static const unsigned char dashboard_scrubber_js[] = {
#embed "web/dashboard/scrubber.js"
};
static const unsigned char dashboard_session_js[] = {
#embed "web/dashboard/session.js"
};
static const unsigned char dashboard_sides_js[] = {
#embed "web/dashboard/sides.js"
};
static const unsigned char dashboard_snapshot_dialogs_js[] = {
#embed "web/dashboard/snapshot-dialogs.js"
};
static const unsigned char dashboard_snapshot_text_js[] = {
#embed "web/dashboard/snapshot-text.js"
};
static const unsigned char dashboard_snapshots_css[] = {
#embed "web/dashboard/snapshots.css"
};
static const unsigned char dashboard_snapshots_js[] = {
#embed "web/dashboard/snapshots.js"
};
static const unsigned char dashboard_text_js[] = {
#embed "web/dashboard/text.js"
};
static const unsigned char dashboard_timeline_js[] = {
#embed "web/dashboard/timeline.js"
};
static const unsigned char dashboard_tree_model_js[] = {
#embed "web/dashboard/tree-model.js"
};
static const unsigned char dashboard_tree_view_js[] = {
#embed "web/dashboard/tree-view.js"
};
static const unsigned char dashboard_undo_js[] = {
#embed "web/dashboard/undo.js"
};
static const unsigned char dashboard_views_css[] = {
#embed "web/dashboard/views.css"
};
static const unsigned char index_html[] = {
#embed "web/index.html"
};
static const unsigned char peerd_d_ts[] = {
#embed "web/peerd.d.ts"
};
static const unsigned char peerd_js[] = {
#embed "web/peerd.js"
};

static const struct web_file web_files[] = {
    {"/api/asyncapi.json", "application/json", api_asyncapi_json, sizeof(api_asyncapi_json)},
    {"/api/openapi.json", "application/json", api_openapi_json, sizeof(api_openapi_json)},
    {"/dashboard/access.css", "text/css; charset=utf-8", dashboard_access_css, sizeof(dashboard_access_css)},
    {"/dashboard/access.js", "text/javascript; charset=utf-8", dashboard_access_js, sizeof(dashboard_access_js)},
    {"/dashboard/app.js", "text/javascript; charset=utf-8", dashboard_app_js, sizeof(dashboard_app_js)},
    {"/dashboard/base.css", "text/css; charset=utf-8", dashboard_base_css, sizeof(dashboard_base_css)},
    {"/dashboard/branch-dialogs.js", "text/javascript; charset=utf-8", dashboard_branch_dialogs_js, sizeof(dashboard_branch_dialogs_js)},
    {"/dashboard/branch.js", "text/javascript; charset=utf-8", dashboard_branch_js, sizeof(dashboard_branch_js)},
    {"/dashboard/branches.css", "text/css; charset=utf-8", dashboard_branches_css, sizeof(dashboard_branches_css)},
    {"/dashboard/branches.js", "text/javascript; charset=utf-8", dashboard_branches_js, sizeof(dashboard_branches_js)},
    {"/dashboard/comparison.js", "text/javascript; charset=utf-8", dashboard_comparison_js, sizeof(dashboard_comparison_js)},
    {"/dashboard/conflicts.js", "text/javascript; charset=utf-8", dashboard_conflicts_js, sizeof(dashboard_conflicts_js)},
    {"/dashboard/dialogs.js", "text/javascript; charset=utf-8", dashboard_dialogs_js, sizeof(dashboard_dialogs_js)},
    {"/dashboard/dom.js", "text/javascript; charset=utf-8", dashboard_dom_js, sizeof(dashboard_dom_js)},
    {"/dashboard/health.js", "text/javascript; charset=utf-8", dashboard_health_js, sizeof(dashboard_health_js)},
    {"/dashboard/icon.svg", "image/svg+xml", dashboard_icon_svg, sizeof(dashboard_icon_svg)},
    {"/dashboard/object.js", "text/javascript; charset=utf-8", dashboard_object_js, sizeof(dashboard_object_js)},
    {"/dashboard/objects.js", "text/javascript; charset=utf-8", dashboard_objects_js, sizeof(dashboard_objects_js)},
    {"/dashboard/past-properties.js", "text/javascript; charset=utf-8", dashboard_past_properties_js, sizeof(dashboard_past_properties_js)},
    {"/dashboard/past.css", "text/css; charset=utf-8", dashboard_past_css, sizeof(dashboard_past_css)},
    {"/dashboard/past.js", "text/javascript; charset=utf-8", dashboard_past_js, sizeof(dashboard_past_js)},
    {"/dashboard/peers.js", "text/javascript; charset=utf-8", dashboard_peers_js, sizeof(dashboard_peers_js)},
    {"/dashboard/properties.js", "text/javascript; charset=utf-8", dashboard_properties_js, sizeof(dashboard_properties_js)},
    {"/dashboard/rejected.css", "text/css; charset=utf-8", dashboard_rejected_css, sizeof(dashboard_rejected_css)},
    {"/dashboard/rejected.js", "text/javascript; charset=utf-8", dashboard_rejected_js, sizeof(dashboard_rejected_js)},
    {"/dashboard/removal.css", "text/css; charset=utf-8", dashboard_removal_css, sizeof(dashboard_removal_css)},
    {"/dashboard/removal.js", "text/javascript; charset=utf-8", dashboard_removal_js, sizeof(dashboard_removal_js)},
    {"/dashboard/scrubber.js", "text/javascript; charset=utf-8", dashboard_scrubber_js, sizeof(dashboard_scrubber_js)},
    {"/dashboard/session.js", "text/javascript; charset=utf-8", dashboard_session_js, sizeof(dashboard_session_js)},
    {"/dashboard/sides.js", "text/javascript; charset=utf-8", dashboard_sides_js, sizeof(dashboard_sides_js)},
    {"/dashboard/snapshot-dialogs.js", "text/javascript; charset=utf-8", dashboard_snapshot_dialogs_js, sizeof(dashboard_snapshot_dialogs_js)},
    {"/dashboard/snapshot-text.js", "text/javascript; charset=utf-8", dashboard_snapshot_text_js, sizeof(dashboard_snapshot_text_js)},
    {"/dashboard/snapshots.css", "text/css; charset=utf-8", dashboard_snapshots_css, sizeof(dashboard_snapshots_css)},
    {"/dashboard/snapshots.js", "text/javascript; charset=utf-8", dashboard_snapshots_js, sizeof(dashboard_snapshots_js)},
    {"/dashboard/text.js", "text/javascript; charset=utf-8", dashboard_text_js, sizeof(dashboard_text_js)},
    {"/dashboard/timeline.js", "text/javascript; charset=utf-8", dashboard_timeline_js, sizeof(dashboard_timeline_js)},
    {"/dashboard/tree-model.js", "text/javascript; charset=utf-8", dashboard_tree_model_js, sizeof(dashboard_tree_model_js)},
    {"/dashboard/tree-view.js", "text/javascript; charset=utf-8", dashboard_tree_view_js, sizeof(dashboard_tree_view_js)},
    {"/dashboard/undo.js", "text/javascript; charset=utf-8", dashboard_undo_js, sizeof(dashboard_undo_js)},
    {"/dashboard/views.css", "text/css; charset=utf-8", dashboard_views_css, sizeof(dashboard_views_css)},
    {"/", "text/html; charset=utf-8", index_html, sizeof(index_html)},
    {"/peerd.d.ts", "text/plain; charset=utf-8", peerd_d_ts, sizeof(peerd_d_ts)},
    {"/peerd.js", "text/javascript; charset=utf-8", peerd_js, sizeof(peerd_js)},
};

size_t web_file_count(void) { return sizeof(web_files) / sizeof(web_files[0]); }
const struct web_file *web_file_at(size_t index) { return &web_files[index]; }
