//! The user for whom a server is started, and what this user may do.

use mongodb::bson::{Document, doc};
use mongodb::options::ClientOptions;
use mongodb::{Client, Database};

use crate::Error;
use crate::credentials::{Credentials, USER};
use crate::replica_set::code;

const USER_EXISTS: i32 = 51_003;

/// Creates the user, or gives the existing user this password and these rights.
///
/// This is safe to repeat, and completes a start that was killed at any point.
pub(crate) async fn give_rights(
    uri: &str,
    credentials: &Credentials,
    database: &str,
) -> Result<(), Error> {
    let admin = admin(uri, credentials).await?;
    match admin.run_command(command("createUser", credentials, database)).await {
        Ok(_) => Ok(()),
        Err(error) if code(&error) == Some(USER_EXISTS) => {
            let changed = admin.run_command(command("updateUser", credentials, database)).await;
            changed.map(drop).map_err(|error| Error::command("updateUser", error))
        }
        Err(error) => Err(Error::command("createUser", error)),
    }
}

/// The `admin` database of the primary.
async fn admin(uri: &str, credentials: &Credentials) -> Result<Database, Error> {
    let refused = |source| Error::command("a connection", source);
    let mut options = ClientOptions::parse(uri).await.map_err(refused)?;
    options.credential = Some(credentials.of_member());
    Ok(Client::with_options(options).map_err(refused)?.database("admin"))
}

fn command(name: &str, credentials: &Credentials, database: &str) -> Document {
    doc! {
        name: USER,
        "pwd": credentials.password(),
        "roles": [{ "role": "readWrite", "db": database }],
        "mechanisms": ["SCRAM-SHA-256"],
        "writeConcern": { "w": "majority", "j": true },
    }
}
