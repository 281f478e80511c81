"""The members of STS's requests."""

from penstock.api.aws.members.declared import Members

__all__ = ["MEMBERS"]

# What is not listed here would seem to be in force: session tags, multi-factor codes, source identities.
MEMBERS = Members(
    served={
        "AssumeRoleRequest": "RoleArn RoleSessionName PolicyArns Policy DurationSeconds ExternalId",
        "PolicyDescriptorType": "arn",
        "AssumeRoleWithWebIdentityRequest": "RoleArn RoleSessionName WebIdentityToken PolicyArns Policy DurationSeconds",
        "GetFederationTokenRequest": "Name Policy PolicyArns DurationSeconds",
        "GetSessionTokenRequest": "DurationSeconds",
    }
)
