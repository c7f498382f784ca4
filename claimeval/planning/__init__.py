"""What a run will ask and cost, found before anything is paid."""
