"""The members of STS's requests."""

from penstock.api.aws.members.declared import Members

__all__ = ["MEMBERS"]

# Members that are not listed would seem to take effect: session tags, multi-factor codes, source identities.
MEMBERS = Members(
    served={
        "AssumeRoleRequest": "RoleArn RoleSessionName PolicyArns Policy DurationSeconds ExternalId",
        "PolicyDescriptorType": "arn",
        "AssumeRoleWithWebIdentityRequest": "RoleArn RoleSessionName WebIdentityToken PolicyArns Policy DurationSeconds",
        "GetFederationTokenRequest": "Name Policy PolicyArns DurationSeconds",
        "GetSessionTokenRequest": "DurationSeconds",
    }
)
