"""What a job would ask and cost, found before anything is paid."""
