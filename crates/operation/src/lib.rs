#![doc = include_str!("../README.md")]

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, LitStr, Meta, Result, ReturnType,
    Token, bracketed,
};

/// Makes a handler an operation of the API.
///
/// Beside the function it adds a type of the same name, which implements `crate::operation::Operation`.
#[proc_macro_attribute]
pub fn operation(
    arguments: proc_macro::TokenStream,
    handler: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    let expanded = syn::parse(arguments)
        .and_then(|arguments| Ok(expand(&arguments, &syn::parse(handler)?)))
        .unwrap_or_else(Error::into_compile_error);
    expanded.into()
}

/// The arguments of the attribute.
struct Arguments {
    answers: LitStr,
    repeated: Option<LitStr>,
    problems: Punctuated<Ident, Token![,]>,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (mut answers, mut repeated, mut problems) = (None, None, Punctuated::new());
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            match name.to_string().as_str() {
                "answers" => answers = Some(input.parse()?),
                "repeated" => repeated = Some(input.parse()?),
                "problems" => {
                    let list;
                    bracketed!(list in input);
                    problems = Punctuated::parse_terminated(&list)?;
                }
                _ => return Err(Error::new(name.span(), "expected answers, repeated or problems")),
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let answers = answers.ok_or_else(|| input.error("expected answers = \"…\""))?;
        Ok(Self { answers, repeated, problems })
    }
}

fn expand(arguments: &Arguments, handler: &ItemFn) -> TokenStream {
    let Arguments { answers, repeated, problems } = arguments;
    let signature = &handler.sig;
    let (visibility, name) = (&handler.vis, &signature.ident);
    let (id, text) = (name.to_string(), documentation(&handler.attrs));
    let inputs = signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(input) => Some(&input.ty),
        FnArg::Receiver(_) => None,
    });
    let output = match &signature.output {
        ReturnType::Type(_, output) => quote!(#output),
        ReturnType::Default => quote!(()),
    };
    let repeated = repeated.as_ref().map_or_else(|| quote!(None), |text| quote!(Some(#text)));
    let problems = problems.iter();
    quote! {
        #handler

        #[expect(non_camel_case_types, reason = "named like its handler, so that both are found under one name")]
        #visibility struct #name {}

        impl crate::operation::Operation for #name {
            const ID: &'static str = #id;
            const TEXT: &'static str = #text;
            const ANSWERS: &'static str = #answers;
            const REPEATED: Option<&'static str> = #repeated;

            fn describe(description: &mut crate::operation::Description) {
                #(<#inputs as crate::operation::Input>::describe(description);)*
                <#output as crate::operation::Output>::describe(description);
                description.problems(&[#(crate::problem::ProblemKind::#problems),*]);
            }

            fn route(method: axum::routing::MethodFilter) -> axum::routing::MethodRouter<crate::state::AppState> {
                axum::routing::on(method, #name)
            }
        }
    }
}

/// Returns the text of the documentation comments.
fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let lines = lines.filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(line) => match &line.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned());
    lines.collect::<Vec<_>>().join("\n")
}
