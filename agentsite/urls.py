"""The site's URLs."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("chat.pages.urls")),
    path("accounts/", include("chat.pages.account_urls")),
    path("admin/", admin.site.urls),
]

handler400 = "agentsite.faults.bad_request"
handler500 = "agentsite.faults.error_page"
