mod mongo;
