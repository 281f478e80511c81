"""Who may call which operation: authentication, actions, resources, policy checks."""
